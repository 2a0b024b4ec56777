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

/** One event as the port takes it; the adapter adds source and bus. */
export type LeaseholdEvent = {
  [name in EventName]: { readonly name: name; readonly detail: Omit<EventDetails[name], 'service'> };
}[EventName];
