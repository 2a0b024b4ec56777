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

/** AWS accepts these only in whole units. */
const wholeUnits: Partial<
  Record<SettingName, { readonly unit: 'seconds' | 'minutes'; readonly ms: number }>
> = {
  functionTimeoutMs: { unit: 'seconds', ms: 1000 },
  batchWindowMs: { unit: 'seconds', ms: 1000 },
  queueRetentionMs: { unit: 'seconds', ms: 1000 },
  deadLetterRetentionMs: { unit: 'seconds', ms: 1000 },
  reaperIntervalMs: { unit: 'minutes', ms: 60_000 },
};

const isDuration = (name: SettingName): boolean => {
  const declaration = declarations[name];
  return declaration.kind === 'number' && declaration.unit === 'ms';
};

/** Durations drop the suffix `Ms`. */
export const propOf = (name: SettingName): string => (isDuration(name) ? name.replace(/Ms$/, '') : name);

export function settingsFromProps(props: SettingProps): Settings {
  const given: GivenSettings = {};
  const problems: string[] = [];
  for (const name of settingNames) {
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

function deployable(settings: Settings): Settings {
  const problems = Object.entries(wholeUnits).flatMap(([name, { unit, ms }]) => {
    const value = settings[name as SettingName] as number;
    return value % ms === 0
      ? []
      : [
          `setting '${name}' is ${value}; AWS takes whole ${unit} here. Set it to ${Math.ceil(value / ms) * ms}`,
        ];
  });
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}
