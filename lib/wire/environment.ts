/** Names of the environment variables by which the stack configures the functions. */

/** Variables that name resources; every setting has one more, see `settingVariable`. */
export const resourceVariables = {
  tableName: 'LEASEHOLD_TABLE_NAME',
  queueUrl: 'LEASEHOLD_QUEUE_URL',
  serviceName: 'LEASEHOLD_SERVICE_NAME',
  eventBusName: 'LEASEHOLD_EVENT_BUS_NAME',
} as const;

/** Variables that only the reaper function is given. */
export const reaperVariables = { wakeQueueUrl: 'LEASEHOLD_WAKE_QUEUE_URL' } as const;

export type Resources = { readonly [name in keyof typeof resourceVariables]: string };

export const VARIABLE_PREFIX = 'LEASEHOLD_';

/** `leaseMs` is read from `LEASEHOLD_LEASE_MS`. */
export const settingVariable = (setting: string): string =>
  VARIABLE_PREFIX + setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
