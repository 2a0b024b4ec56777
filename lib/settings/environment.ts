import { defined } from '../wire/defined.ts';
import {
  ownAwsVariables,
  poolVariables,
  processVariables,
  type Resources,
  reaperVariables,
  resourceVariables,
  SHORT_TIMES_VARIABLE,
  settingVariable,
  VARIABLE_PREFIX,
} from '../wire/environment.ts';
import { quoted } from '../wire/message.ts';
import { didYouMean } from '../wire/nearest.ts';
import { DEFAULT_POOL, parsePools, poolsText, type Routing } from '../wire/pools.ts';
import {
  declarations,
  resolveSettings,
  type SettingLimits,
  type SettingName,
  type Settings,
  settingNames,
} from './settings.ts';
import { SettingsError } from './settings-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A function's resources and settings. */
export interface Configuration {
  readonly resources: Resources;
  readonly settings: Settings;
  /** @default - one pool */
  readonly routing?: Routing;
}

/** A missing variable fails at synth. */
export function toEnvironment({ resources, settings, routing }: Configuration): Record<string, string> {
  const resourceNames = Object.keys(resourceVariables) as (keyof Resources)[];
  return Object.fromEntries([
    ...resourceNames.map((name) => [resourceVariables[name], resources[name]]),
    ...settingNames.map((name) => [settingVariable(name), String(settings[name])]),
    ...(routing === undefined
      ? []
      : [
          [poolVariables.pools, poolsText(routing.pools)],
          [poolVariables.pool, routing.pool],
        ]),
  ]);
}

/** Unset variables keep their defaults; unknown ones are refused. */
export const settingsFromEnvironment = (environment: Environment): Settings =>
  resolveSettings(givenSettings(environment), limitsFromEnvironment(environment));

export function limitsFromEnvironment(environment: Environment): SettingLimits {
  const text = environment[SHORT_TIMES_VARIABLE] || 'false';
  if (text !== 'true' && text !== 'false')
    throw new SettingsError([
      `environment variable '${SHORT_TIMES_VARIABLE}' is ${quoted(text)}; it must be true or false`,
    ]);
  return { allowShortTimes: text === 'true' };
}

const settingOf = new Map(settingNames.map((name) => [settingVariable(name), name]));

export const leaseholdVariables: readonly string[] = [
  ...settingOf.keys(),
  ...Object.values(resourceVariables),
  ...Object.values(reaperVariables),
  ...Object.values(poolVariables),
  ...Object.values(processVariables),
  SHORT_TIMES_VARIABLE,
];

function givenSettings(environment: Environment): Partial<Record<SettingName, unknown>> {
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith(VARIABLE_PREFIX) && !leaseholdVariables.includes(name),
  );
  if (unknown.length > 0)
    throw new SettingsError(
      unknown.map(
        (name) =>
          `environment variable '${name}' is unknown.${didYouMean(name, leaseholdVariables)} Remove or rename it`,
      ),
    );
  const given: Partial<Record<SettingName, unknown>> = {};
  for (const [variable, name] of settingOf) {
    const text = environment[variable];
    if (text !== undefined && text !== '') given[name] = read(name, text);
  }
  return given;
}

/** Reads a function's configuration from its environment; an error names the missing variable. */
export function configurationFromEnvironment(environment: Environment): Configuration {
  refuseShortTimesOnAws(environment);
  const settings = settingsFromEnvironment(environment);
  refuseMissing(Object.values(resourceVariables), environment);
  const resources = Object.fromEntries(
    Object.entries(resourceVariables).map(([name, variable]) => [name, environment[variable]]),
  ) as Resources;
  return { resources, settings, ...defined({ routing: routingFromEnvironment(environment) }) };
}

const processLimits = { healthPort: 65_535, protectMinutes: 2880 } as const;

export function processOptionsFromEnvironment(
  environment: Environment,
): Partial<Record<keyof typeof processVariables, number>> {
  const options: Partial<Record<keyof typeof processVariables, number>> = {};
  for (const name of Object.keys(processVariables) as (keyof typeof processVariables)[]) {
    const text = environment[processVariables[name]];
    if (!text) continue;
    const value = Number(text);
    if (!Number.isInteger(value) || value < 0 || value > processLimits[name])
      throw new SettingsError([
        `environment variable '${processVariables[name]}' is ${quoted(text)}; it must be a whole number from 0 to ${processLimits[name]}`,
      ]);
    options[name] = value;
  }
  return options;
}

/** Undefined for a single pool. */
export function routingFromEnvironment(environment: Environment): Routing | undefined {
  const text = environment[poolVariables.pools];
  const pool = environment[poolVariables.pool] || DEFAULT_POOL;
  if (!text && pool === DEFAULT_POOL) return undefined;
  const { pools, problems } = parsePools(text || '{}');
  if (problems.length > 0)
    throw new SettingsError(
      problems.map((problem) => `environment variable '${poolVariables.pools}': ${problem}`),
    );
  if (pool !== DEFAULT_POOL && !Object.hasOwn(pools, pool))
    throw new SettingsError([
      `environment variable '${poolVariables.pool}' is ${quoted(pool)}.${didYouMean(pool, Object.keys(pools))} It must be one of ${[DEFAULT_POOL, ...Object.keys(pools)].join(', ')}`,
    ]);
  return { pool, pools };
}

/** Plain http at a given address means a local engine. */
function refuseShortTimesOnAws(environment: Environment): void {
  if (!limitsFromEnvironment(environment).allowShortTimes) return;
  const { AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL } = ownAwsVariables(environment);
  const endpoint = AWS_ENDPOINT_URL_DYNAMODB || AWS_ENDPOINT_URL;
  if (endpoint?.startsWith('http://')) return;
  throw new SettingsError([
    `environment variable '${SHORT_TIMES_VARIABLE}' is true, but AWS_ENDPOINT_URL_DYNAMODB is ${endpoint ? quoted(endpoint) : 'not set'}; short times are allowed only with a local engine, at an address that begins with http://. Remove the variable`,
  ]);
}

export function wakeQueueFromEnvironment(environment: Environment): string {
  refuseMissing(Object.values(reaperVariables), environment);
  return environment[reaperVariables.wakeQueueUrl] ?? '';
}

function refuseMissing(names: readonly string[], environment: Environment): void {
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
  // Text that is not a number stays as it is, so that the error shows it.
  if (kind === 'number') return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
  if (kind === 'switch') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}
