import { Duration } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { propOf, settingsFromProps } from '../../lib/cdk/props/settings-from-props.ts';
import {
  declarations,
  defaultSettings,
  resolveSettings,
  type SettingDeclaration,
  type SettingName,
  settingNames,
} from '../../lib/settings/settings.ts';
import { defined } from '../../lib/wire/defined.ts';

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1000],
  ['millis', 1],
] as const;

/** Defaults that move along with another setting. */
const followers: Partial<Record<SettingName, string>> = {
  heartbeatMs: '- 5 seconds, or a third of `lease` if you set that',
  minLeaseMs: '- 20 seconds, or `lease` if that is shorter',
};

function defaultOf(name: SettingName, declaration: SettingDeclaration): string {
  const follower = followers[name];
  if (follower !== undefined) return follower;
  if (declaration.kind === 'choice' || declaration.kind === 'types') return `'${declaration.default}'`;
  if (declaration.kind === 'switch' || declaration.unit !== 'ms') return String(declaration.default);
  const ms = declaration.default;
  const [unit, size] = UNITS.find(([, each]) => ms > 0 && ms % each === 0) ?? ['millis', 1];
  return `Duration.${unit}(${ms / size})`;
}

function typeOf(declaration: SettingDeclaration): string {
  switch (declaration.kind) {
    case 'switch':
      return 'boolean';
    case 'choice':
      return declaration.choices.map((choice) => `'${choice}'`).join(' | ');
    case 'types':
      return 'string';
    case 'number':
      return declaration.unit === 'ms' ? 'Duration' : 'number';
  }
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** The interface as the declarations of the settings say it. */
function rendered(): string {
  const props = settingNames.map((name) => {
    const declaration = declarations[name];
    const parts = [sentence(declaration.description), `@default ${defaultOf(name, declaration)}`];
    const line = `  /** ${parts.join(' ')} */`;
    const comment = line.length <= 120 ? line : `  /**\n   * ${parts.join('\n   * ')}\n   */`;
    return `${comment}\n  readonly ${propOf(name)}?: ${typeOf(declaration)};`;
  });
  return `import type { Duration } from 'aws-cdk-lib';

/** The settings as props, generated from lib/settings by \`npx vitest run test/cdk/setting-props.test.ts -u\`. */
export interface SettingProps {
${props.join('\n')}
}
`;
}

describe('setting props', () => {
  it('are the settings, with their meaning and default, and nothing typed twice', async () => {
    await expect(rendered()).toMatchFileSnapshot('../../lib/cdk/props/setting-props.ts');
  });

  it('have a name of their own for each setting', () => {
    expect(new Set(settingNames.map(propOf)).size).toBe(settingNames.length);
    expect(propOf('leaseMs')).toBe('lease');
  });

  it.each(settingNames)('carry %s from props to settings and back', (name) => {
    const declaration: SettingDeclaration = declarations[name];
    const other = anotherValue(declaration);
    const isBoundByLease = name === 'minLeaseMs' || name === 'heartbeatMs';
    const given = defined({ leaseMs: isBoundByLease ? 3_600_000 : undefined, [name]: other });
    const props = Object.fromEntries(
      Object.entries(consistent(given)).map(([each, value]) => {
        const prop = propOf(each as SettingName);
        return [prop, prop === each ? value : Duration.millis(Number(value))];
      }),
    );
    expect(settingsFromProps(props)[name]).toBe(other);
    expect(settingsFromProps(props)).toEqual(resolveSettings(consistent(given)));
  });

  it('stand for the defaults when none is given', () => {
    expect(settingsFromProps({})).toEqual(defaultSettings);
  });

  it('let followers follow', () => {
    const settings = settingsFromProps({ lease: Duration.minutes(1) });
    expect(settings.heartbeatMs).toBe(20_000);
  });

  it('refuse a number where a Duration belongs', () => {
    expect(() => settingsFromProps({ lease: 30 as unknown as Duration })).toThrow(
      "prop 'lease' is 30; it must be a Duration",
    );
  });

  it('refuse what AWS cannot take: half seconds and half minutes', () => {
    expect(() => settingsFromProps({ functionTimeout: Duration.millis(60_500) })).toThrow(
      /setting 'functionTimeoutMs' is 60500; AWS takes whole seconds here. Set it to 61000/,
    );
    expect(() => settingsFromProps({ reaperInterval: Duration.seconds(90) })).toThrow(
      /setting 'reaperIntervalMs' is 90000; AWS takes whole minutes here. Set it to 120000/,
    );
  });
});

/** A permitted value that is not the default. */
function anotherValue(declaration: SettingDeclaration): unknown {
  switch (declaration.kind) {
    case 'switch':
      return !declaration.default;
    case 'choice':
      return declaration.choices.find((choice) => choice !== declaration.default);
    case 'types':
      return 'invoice,report';
    case 'number': {
      const up = declaration.default + (declaration.unit === 'ms' ? 60_000 : 1);
      if (up <= declaration.max) return up;
      return declaration.default === declaration.max ? declaration.max - 60_000 : declaration.max;
    }
  }
}

/** Moves what must move along for the relations to hold. */
function consistent(given: Partial<Record<SettingName, unknown>>): Partial<Record<SettingName, unknown>> {
  const moved: Partial<Record<SettingName, unknown>> = { ...given };
  if ('heartbeatMs' in given) moved.leaseMs = 3_600_000;
  if ('minLeaseMs' in given) moved.leaseMs = 3_600_000;
  if ('skewMs' in given) Object.assign(moved, { leaseMs: 3_600_000, minLeaseMs: 3_600_000 });
  if ('batchConcurrency' in given) moved.batchSize = 10;
  return moved;
}
