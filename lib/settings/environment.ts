import {
  type Resources,
  reaperVariables,
  resourceVariables,
  settingVariable,
  VARIABLE_PREFIX,
} from '../wire/environment.ts';
import { didYouMean } from '../wire/nearest.ts';
import { declarations, resolveSettings, type SettingName, type Settings, settingNames } from './settings.ts';
import { SettingsError } from './settings-error.ts';

/** What a function reads at start: its resources by name, and its settings. */
export interface Configuration {
  readonly resources: Resources;
  readonly settings: Settings;
}

/** The variables that the stack must give a function: all of them, so that a missing one is seen at synth. */
export function toEnvironment({ resources, settings }: Configuration): Record<string, string> {
  const resourceNames = Object.keys(resourceVariables) as (keyof Resources)[];
  return Object.fromEntries([
    ...resourceNames.map((name) => [resourceVariables[name], resources[name]]),
    ...settingNames.map((name) => [settingVariable(name), String(settings[name])]),
  ]);
}

/** Reads settings from variables; a variable that is not set keeps its default, an unknown one is refused. */
export const settingsFromEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
): Settings => resolveSettings(givenSettings(environment));

/** The settings that variables give, without the defaults; an unknown variable is refused. */
export function givenSettings(
  environment: Readonly<Record<string, string | undefined>>,
): Partial<Record<SettingName, unknown>> {
  const variables = new Map(settingNames.map((name) => [settingVariable(name), name]));
  const known = [...variables.keys(), ...Object.values(resourceVariables), ...Object.values(reaperVariables)];
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith(VARIABLE_PREFIX) && !known.includes(name),
  );
  if (unknown.length > 0)
    throw new SettingsError(
      unknown.map(
        (name) => `environment variable '${name}' is unknown.${didYouMean(name, known)} Remove or rename it`,
      ),
    );
  const given: Partial<Record<SettingName, unknown>> = {};
  for (const [variable, name] of variables) {
    const text = environment[variable];
    if (text !== undefined && text !== '') given[name] = read(name, text);
  }
  return given;
}

/** The whole configuration of a function; a missing resource is named with the variable that should hold it. */
export function configurationFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Configuration {
  const settings = settingsFromEnvironment(environment);
  refuseMissing(Object.values(resourceVariables), environment);
  const resources = Object.fromEntries(
    Object.entries(resourceVariables).map(([name, variable]) => [name, environment[variable]]),
  ) as Resources;
  return { resources, settings };
}

/** Where the reaper function sends the message that starts the next one. */
export function wakeQueueFromEnvironment(environment: Readonly<Record<string, string | undefined>>): string {
  refuseMissing(Object.values(reaperVariables), environment);
  return environment[reaperVariables.wakeQueueUrl] ?? '';
}

function refuseMissing(
  names: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const missing = names.filter((name) => !environment[name]);
  if (missing.length > 0)
    throw new SettingsError(
      missing.map(
        (name) => `environment variable '${name}' is not set; the stack sets it, a process must export it`,
      ),
    );
}

function read(name: SettingName, text: string): unknown {
  const { kind } = declarations[name];
  // What is not a number stays as it was written, so that the error shows it.
  if (kind === 'number') return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
  if (kind === 'switch') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}
