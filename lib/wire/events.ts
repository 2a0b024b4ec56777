import { isJobType } from './message.ts';

/** Events that Leasehold publishes on an EventBridge bus. docs/events.md documents the detail of each. */
export const EVENT_SOURCE = 'leasehold';

interface JobEventDetail {
  readonly service: string;
  readonly jobId: string;
  readonly type: string;
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
  readonly leaseOwner?: string;
  readonly at: number;
}

export interface EventDetails {
  /** A worker has claimed a job and starts its handler. Only for types that `startedEvents` names. */
  JobStarted: JobEventDetail;
  /** A job is done. Only for types that `doneEvents` names. */
  JobDone: JobEventDetail & { readonly durationMs: number };
  /** A job was ended by an operator, before or while it ran. */
  JobCancelled: JobEventDetail;
  /** A lease lapsed, and the job goes to the next worker. */
  JobReclaimed: JobEventDetail & { readonly reclaimDelayMs: number };
  /** A handler threw and the job will run again. */
  JobRetried: JobEventDetail & { readonly lastError: string; readonly notBefore: number };
  /** A job failed for good. */
  JobFailed: JobEventDetail & { readonly lastError: string };
  /** A job failed because it kept killing its worker. Comes with a JobFailed. */
  JobQuarantined: JobEventDetail & { readonly lastError: string };
  ReaperLeadershipChanged: {
    readonly service: string;
    readonly leader: string;
    readonly change: 'acquired' | 'lost' | 'released';
    readonly epoch: number;
    readonly at: number;
  };
  ReaperBreakerOpened: {
    readonly service: string;
    readonly lapsed: number;
    readonly live: number;
    readonly at: number;
  };
}

export type EventName = keyof EventDetails;

/** Stands for every type in a list of types. */
export const ALL_TYPES = '*';

/** Whether a text is a list of types: none, some separated by commas, or all. */
export const isTypeList = (value: unknown): value is string =>
  typeof value === 'string' && (value === '' || value === ALL_TYPES || value.split(',').every(isJobType));

/** Whether a list of types names this one. */
export const namesType = (list: string, type: string): boolean =>
  list !== '' && (list === ALL_TYPES || list.split(',').includes(type));

/** One event as the port takes it; the adapter adds source and bus. */
export type LeaseholdEvent = {
  [name in EventName]: { readonly name: name; readonly detail: Omit<EventDetails[name], 'service'> };
}[EventName];

/** What every event of a job tells of it. */
export const eventDetailOf = (job: Omit<JobEventDetail, 'service' | 'at'>) => {
  const { jobId, type, attempt, errors, crashes, releases, leaseOwner } = job;
  return { jobId, type, attempt, errors, crashes, releases, leaseOwner };
};
