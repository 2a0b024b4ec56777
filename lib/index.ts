/** What job types are written with. */
export type { JsonValue, SendOptions } from './contract/message.ts';
export { LeaseholdError, NonRetryableError } from './jobs/errors.ts';
export { Cancelled, LeaseLost, ShuttingDown, TimedOut } from './worker/abort-reasons.ts';
export {
  defineJob,
  type JobContext,
  type JobDefinition,
  type JobOptions,
  type JobView,
} from './worker/define-job.ts';
export { createRegistry, type Registry, RegistryError } from './worker/registry.ts';
