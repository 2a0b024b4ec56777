/** Events that Leasehold puts on an EventBridge bus. The detail of each is documented in docs/events.md. */
export const EVENT_SOURCE = 'leasehold';

export interface JobEventDetail {
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
  /** A lapsed lease was taken back and the job given to the next worker. */
  JobReclaimed: JobEventDetail & { readonly reclaimDelayMs: number };
  /** A handler threw and the job will run again. */
  JobRetried: JobEventDetail & { readonly lastError: string; readonly notBefore: number };
  /** A job failed for good. */
  JobFailed: JobEventDetail & { readonly lastError: string };
  /** A job was failed because it kept killing its worker. Comes with a JobFailed. */
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

/** One event as handed to the port; the adapter adds source and bus. */
export type LeaseholdEvent = {
  [name in EventName]: { readonly name: name; readonly detail: Omit<EventDetails[name], 'service'> };
}[EventName];
