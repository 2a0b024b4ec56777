/** For settings see `settingVariable`. */
export const resourceVariables = {
  tableName: 'LEASEHOLD_TABLE_NAME',
  queueUrl: 'LEASEHOLD_QUEUE_URL',
  serviceName: 'LEASEHOLD_SERVICE_NAME',
  eventBusName: 'LEASEHOLD_EVENT_BUS_NAME',
} as const;

/** All pools but the default one, and the pool of this worker. */
export const poolVariables = { pools: 'LEASEHOLD_POOLS', pool: 'LEASEHOLD_POOL' } as const;

/** For containers whose command is fixed. */
export const processVariables = {
  healthPort: 'LEASEHOLD_HEALTH_PORT',
  protectMinutes: 'LEASEHOLD_PROTECT_MINUTES',
} as const;

/** Required by the reaper function, optional for a process. */
export const reaperVariables = { wakeQueueUrl: 'LEASEHOLD_WAKE_QUEUE_URL' } as const;

/** Set to `true` by the local stack and by tests; refused on AWS. */
export const SHORT_TIMES_VARIABLE = 'LEASEHOLD_ALLOW_SHORT_TIMES';

/** JSON, set by the local stack where handlers use the user's own AWS settings. */
export const OWN_AWS_VARIABLE = '__LEASEHOLD_AWS';

export const ownAwsVariables = (
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> =>
  JSON.parse(environment[OWN_AWS_VARIABLE] || 'null') ?? environment;

export type Resources = { readonly [name in keyof typeof resourceVariables]: string };

export const VARIABLE_PREFIX = 'LEASEHOLD_';

/** `leaseMs` is read from `LEASEHOLD_LEASE_MS`. */
export const settingVariable = (setting: string): string =>
  VARIABLE_PREFIX + setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
