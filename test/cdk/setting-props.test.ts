import { Duration } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { propOf, settingsFromProps } from '../../lib/cdk/props/settings-from-props.ts';
import {
  declarations,
  type SettingDeclaration,
  type SettingName,
  settingNames,
} from '../../lib/settings/settings.ts';

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

  it.each(settingNames)('carry %s to the setting of that name', (name) => {
    const declaration: SettingDeclaration = declarations[name];
    const wrong = declaration.kind === 'number' ? declaration.max + 1 : 'a, b';
    const isTime = declaration.kind === 'number' && declaration.unit === 'ms';
    const props = { [propOf(name)]: isTime ? Duration.millis(Number(wrong)) : wrong };
    expect(() => settingsFromProps(props)).toThrow(new RegExp(`setting '${name}' is '?${wrong}'?;`));
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
