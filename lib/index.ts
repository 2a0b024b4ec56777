import './node-version.ts';

/** What job types are written with. */

export type { Schedule, Schedules } from './client/schedules/schedule.ts';
export {
  NonRetryableError,
  NotJsonError,
  QueueUnavailableError,
  RetryAfter,
  StoreUnavailableError,
  ThrottledError,
  TooLargeError,
} from './protocol/errors.ts';
export { SettingsError } from './settings/settings-error.ts';
export { type EventSchema, eventSchemas } from './wire/event-schemas.ts';
export { LeaseholdError } from './wire/leasehold-error.ts';
export type { JsonValue, SendOptions } from './wire/message.ts';
export type { TraceContext } from './wire/trace.ts';
export { Cancelled, LeaseLost, ShuttingDown, TimedOut } from './worker/abort-reasons.ts';
export {
  defineJob,
  type HandlerJob,
  type JobContext,
  type JobDefinition,
  type JobOptions,
  type Schema,
} from './worker/define-job.ts';
export {
  createRegistry,
  type Registry,
  RegistryError,
  type RegistryOptions,
  UnknownTypeError,
} from './worker/registry.ts';
