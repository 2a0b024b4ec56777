import '../node-version.ts';

export type { ReviveOptions } from './act-on-job.ts';
export { type Client, type ClientOptions, createClient, type JobList } from './create-client.ts';
export { type EnqueuedItems, EnqueueRefusedError } from './enqueue-items.ts';
export {
  ActRefusedError,
  BadRequestError,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  ScanNeededError,
  WaitTimedOutError,
} from './errors.ts';
export type { JobRecord } from './job-record.ts';
export type { ListedJob, Listing } from './list-jobs.ts';
export type { UnknownJob } from './look-up.ts';
export type { Overview } from './overview.ts';
/** Jobs from code: send, look up, wait for, list and act on them. See docs/guides/client.md. */
export {
  type JobArguments,
  MessageRefusedError,
  type Outgoing,
  type Producer,
  type SendOutcome,
  type Sent,
} from './producer/index.ts';
export type { WaitOptions } from './wait-for.ts';
