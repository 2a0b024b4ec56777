import { Duration } from 'aws-cdk-lib';
import {
  declarations,
  resolveSettings,
  type SettingName,
  type Settings,
  settingNames,
} from '../../settings/settings.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { quoted } from '../../wire/message.ts';
import type { SettingProps } from './setting-props.ts';

type GivenSettings = Partial<Record<SettingName, unknown>>;

/** Not a prop: it exists for demonstrations and tests, where times are short. */
const NOT_DEPLOYED = 'timeScale';

/** Settings that AWS itself takes only in whole units. */
const wholeUnits: Partial<
  Record<SettingName, { readonly unit: 'seconds' | 'minutes'; readonly ms: number }>
> = {
  functionTimeoutMs: { unit: 'seconds', ms: 1000 },
  visibilityTimeoutMs: { unit: 'seconds', ms: 1000 },
  batchWindowMs: { unit: 'seconds', ms: 1000 },
  queueRetentionMs: { unit: 'seconds', ms: 1000 },
  deadLetterRetentionMs: { unit: 'seconds', ms: 1000 },
  reaperIntervalMs: { unit: 'minutes', ms: 60_000 },
};

const isDuration = (name: SettingName): boolean => {
  const declaration = declarations[name];
  return declaration.kind === 'number' && declaration.unit === 'ms';
};

/** Settings as props: a duration loses its `Ms`. */
export const propOf = (name: SettingName): string => (isDuration(name) ? name.replace(/Ms$/, '') : name);

/** The settings that have a prop. */
export const deployedSettings = settingNames.filter((name) => name !== NOT_DEPLOYED);

/** The settings that these props stand for, complete and consistent, or one error that names every problem. */
export function settingsFromProps(props: SettingProps): Settings {
  const given: GivenSettings = {};
  const problems: string[] = [];
  for (const name of deployedSettings) {
    const value: unknown = props[propOf(name) as keyof SettingProps];
    if (value === undefined) continue;
    if (!isDuration(name)) given[name] = value;
    else if (value instanceof Duration && !value.isUnresolved()) given[name] = value.toMilliseconds();
    else
      problems.push(
        `prop '${propOf(name)}' is ${value instanceof Duration ? 'a token' : quoted(value)}; it must be a Duration whose value is known at synth, such as Duration.seconds(30)`,
      );
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return deployable(resolveSettings(given));
}

/** Given settings as the props that stand for them. */
export function propsFromSettings(given: GivenSettings): SettingProps {
  const { [NOT_DEPLOYED]: timeScale = 1, ...rest } = given;
  // Whoever sets it must hear that it cannot be deployed, not find it ignored.
  deployable(resolveSettings({ ...given, timeScale }));
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [
      propOf(name as SettingName),
      isDuration(name as SettingName) ? Duration.millis(value as number) : value,
    ]),
  );
}

function deployable(settings: Settings): Settings {
  const problems = Object.entries(wholeUnits).flatMap(([name, { unit, ms }]) => {
    const value = settings[name as SettingName] as number;
    return value % ms === 0
      ? []
      : [
          `setting '${name}' is ${value}; AWS takes whole ${unit} here. Set it to ${Math.ceil(value / ms) * ms}`,
        ];
  });
  if (settings.timeScale !== 1)
    problems.push(
      `setting 'timeScale' is ${settings.timeScale}; a deployed stack takes only 1, because shorter times are for demonstrations and tests. Remove it`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}
