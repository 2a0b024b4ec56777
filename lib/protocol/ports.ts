import type { LeaseholdEvent } from '../wire/events.ts';
import type { JsonValue } from '../wire/message.ts';
import type { MetricName, TypeMetricName } from '../wire/metrics.ts';
import type { TraceContext } from '../wire/trace.ts';
import type { ClaimOutcome } from './decisions/decide-claim.ts';
import type { Dispatch } from './decisions/dispatch.ts';
import type { MissingDataError, NewerFormatError, QueueUnavailableError } from './errors.ts';
import type { Claim, ClaimCounts, Job, LeaseEntry, PendingJob, RunningJob } from './job.ts';
import type { RejectedMessage } from './writes/operator-writes.ts';
import type { ReapAction } from './writes/reaper-writes.ts';
import type { BatchResult, Row, RowWrite, WriteResult } from './writes/row-write.ts';
import type { JobTerms, NewJob } from './writes/worker-writes.ts';

/** The only source of time. */
export interface Clock {
  /** Wall time, epoch ms: what leases are made of. */
  now(): number;
  /** Monotonic ms: what elapsed time is made of. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The only source of chance. */
export interface Chance {
  /** In [0, 1). */
  random(): number;
  /** A short string that no other call in any process returns. */
  unique(): string;
}

/**
 * The storage driver: conditional writes to single rows, and sorted reading of the lease index. DynamoDB implements it,
 * and memory does for tests; everything above it is the same code.
 */
export interface Table {
  /** Applies one write if its condition holds. Throws typed errors only for what is broken. */
  apply(write: RowWrite): Promise<WriteResult>;
  /** Applies many writes to different rows, 25 a request, with a verdict for each, in the order given. */
  applyMany(writes: readonly RowWrite[]): Promise<BatchResult[]>;
  /** Reads one row consistently. */
  read(jobId: string): Promise<Row | undefined>;
  /** Reads many rows consistently, 100 a request, in the order given. */
  readMany(jobIds: readonly string[]): Promise<(Row | undefined)[]>;
  /** One page of one partition of the index, in key order. */
  query(request: IndexQuery): Promise<IndexPage>;
  /**
   * Counts entries of one partition with a sort key in (after, upTo], giving up at `atMost` to bound the cost; the cursor
   * of an incomplete count says where to go on.
   */
  count(request: CountQuery): Promise<EntryCount>;
}

export interface IndexQuery {
  readonly partition: string;
  /** Only entries whose sort key is at most this. */
  readonly upTo?: number;
  /** Only entries whose sort key is above this. */
  readonly after?: number;
  readonly limit: number;
  readonly newestFirst?: boolean;
  readonly cursor?: Cursor;
}

export type Cursor = Readonly<Record<string, unknown>>;

/** @internal */
export interface IndexPage {
  readonly rows: readonly Row[];
  readonly cursor?: Cursor;
}

export interface CountQuery {
  readonly partition: string;
  readonly after?: number;
  readonly upTo?: number;
  readonly atMost: number;
  readonly cursor?: Cursor;
}

interface EntryCount {
  readonly count: number;
  readonly complete: boolean;
  readonly cursor?: Cursor;
}

/** A fenced write either stood, or found that the claim was no longer the holder. */
export type FencedOutcome =
  | { readonly outcome: 'written' }
  | { readonly outcome: 'lost'; readonly job?: Job };

/** The first checkpoint of a claim that differs from what it found forgives its crashes; then it tells the new counts. */
type CheckpointOutcome =
  | { readonly outcome: 'written'; readonly counts?: Pick<ClaimCounts, 'crashes' | 'releases'> }
  | { readonly outcome: 'lost'; readonly job?: Job };

export type HeartbeatOutcome =
  | { readonly outcome: 'extended'; readonly cancelRequested: boolean }
  | { readonly outcome: 'lost'; readonly job?: Job };

type RestartOutcome =
  | { readonly outcome: 'restarted'; readonly job: RunningJob }
  /** Granted, but its payload or checkpoint is gone, so that it was failed for good. */
  | { readonly outcome: 'withoutData'; readonly job: RunningJob; readonly error: MissingDataError }
  /** Still mine, but an operator wants it ended. */
  | { readonly outcome: 'cancelRequested' }
  | { readonly outcome: 'lost'; readonly job?: Job };

export type ReapOutcome =
  /** `action`: what was written instead, because the job had been excused often enough. */
  | { readonly outcome: 'written'; readonly action?: ReapAction }
  /** The row had moved on: a stale index read, or a rival reaper. */
  | { readonly outcome: 'moved' }
  /** A newer version wrote the row: it is left alone. */
  | { readonly outcome: 'newer'; readonly error: NewerFormatError }
  | { readonly outcome: 'failed'; readonly error: Error };

export type OperatorOutcome =
  | { readonly outcome: 'written'; readonly job: Job }
  | { readonly outcome: 'absent' }
  /** The job's status does not allow this verb. */
  | { readonly outcome: 'refused'; readonly job: Job };

/** A claim to be made: by a job message, or by a hint that names a row. */
export interface ClaimRequest {
  readonly job: NewJob | { readonly jobId: string };
  readonly owner: string;
  /** The message was received before: its data may be in rows already, so the job is first claimed as by a hint. */
  readonly again?: boolean;
  /** The terms of a type, for a row that was written without knowing it; undefined where this worker does not either. */
  readonly termsOf?: (type: string) => JobTerms | undefined;
}

/** The life of a job: each verb is one conditional write, and recognises its own success after a lost reply. */
export interface JobStore {
  /** Takes the lease of a new or pending job. */
  claim(request: ClaimRequest): Promise<ClaimOutcome>;
  /** Claims many new jobs with one request for up to 25; the outcomes come in the order given. */
  claimMany(
    requests: readonly ClaimRequest[],
  ): Promise<(ClaimOutcome | { outcome: 'failed'; error: Error })[]>;
  /**
   * Keeps a job for later. Refused when it has a row already, which is as good. `again`: its message was received before, so
   * there may be one, and data for another would be written in vain.
   */
  schedule(
    job: NewJob,
    dispatch: Dispatch,
    again?: boolean,
  ): Promise<{ outcome: 'written'; job: PendingJob } | { outcome: 'exists'; job?: Job }>;
  /** Extends the lease to `leaseUntil`. */
  heartbeat(claim: Claim, leaseUntil: number): Promise<HeartbeatOutcome>;
  /** Extends many leases with one request for up to 25; the outcomes come in the order given. */
  heartbeatMany(
    beats: readonly { readonly claim: Claim; readonly leaseUntil: number }[],
  ): Promise<(HeartbeatOutcome | { outcome: 'failed'; error: Error })[]>;
  /** Keeps the handler's place and progress; `seq` must rise with each call of one claim. */
  checkpoint(
    claim: Claim,
    kept: { seq: number; checkpoint?: JsonValue; progress?: JsonValue },
  ): Promise<CheckpointOutcome>;
  complete(claim: Claim, result?: JsonValue): Promise<FencedOutcome>;
  /** Completes many claims with one request for up to 25. */
  completeMany(
    ends: readonly { readonly claim: Claim; readonly result?: JsonValue }[],
  ): Promise<(FencedOutcome | { outcome: 'failed'; error: Error })[]>;
  retry(
    claim: Claim,
    next: { errors: number; lastError: string; dispatch: Dispatch },
  ): Promise<FencedOutcome>;
  /** Ends the job for good; crashes and releases are given where they, not errors, are the reason. */
  fail(
    claim: Claim,
    end: { errors: number; crashes?: number; releases?: number; lastError: string },
  ): Promise<FencedOutcome>;
  /** After the death of a cell: ends the claim and grants the next one, without the queue. */
  restart(
    claim: Claim,
    next: {
      owner: string;
      leaseMs: number;
      crashes: number;
      releases: number;
      lastError: string;
      diedAt: number;
    },
  ): Promise<RestartOutcome>;
  release(
    claim: Claim,
    next: { errors: number; releases: number; excuses?: number; lastError?: string; dispatch: Dispatch },
  ): Promise<FencedOutcome>;
  /** Releases a claim whose reply never came, if it was granted at all. */
  releaseUnknown(jobId: string, owner: string, dispatch: Dispatch): Promise<FencedOutcome>;
  /** Ends a running job whose cancellation was requested. */
  cancelRunning(claim: Claim): Promise<FencedOutcome>;
  /** Ends a pending job whose cancellation was requested. */
  cancelPending(observed: { jobId: string; attempt: number }): Promise<FencedOutcome>;
  /** Keeps a message that cannot be run. */
  reject(message: RejectedMessage): Promise<{ readonly outcome: 'written'; readonly row: string }>;
  /** Carries out a reaper's verdict on one entry. */
  reap(entry: LeaseEntry, action: ReapAction): Promise<ReapOutcome>;
  /** Carries out many, 25 a request. */
  reapMany(verdicts: readonly { entry: LeaseEntry; action: ReapAction }[]): Promise<ReapOutcome[]>;
  cancel(jobId: string): Promise<OperatorOutcome>;
  /**
   * Runs a failed or cancelled job again: when it was to run, if that is still ahead, unless `now` is given. The job that comes
   * back says when its next hint is due.
   */
  revive(jobId: string, options?: { readonly now?: boolean }): Promise<OperatorOutcome>;
  /** Takes a running job from its worker. The job that comes back says when its next hint is due. */
  takeBack(jobId: string): Promise<OperatorOutcome>;
  /** Reads one job consistently; rows past their retention are as good as gone. */
  read(jobId: string): Promise<Job | undefined>;
}

export interface Hint {
  readonly jobId: string;
  readonly type?: string;
  readonly delaySeconds: number;
}

/** A message as received, with what is needed to end or return it. */
export interface ReceivedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly sentAt: number;
  readonly receiveCount: number;
  /** What a tracing layer put beside the body. */
  readonly trace?: TraceContext;
}

interface HintsSent {
  readonly sent: number;
  /** The jobs whose hint could not be sent. */
  readonly failed: readonly string[];
  /** Why the first of them could not. */
  readonly reason?: string;
}

/** The queue of hints and job messages. */
export interface JobQueue {
  /** Sends hints, 10 a request, repeating those that failed. */
  sendHints(hints: readonly Hint[]): Promise<HintsSent>;
  /** Sends job messages, 10 a request, repeating those that failed. */
  sendJobs(
    bodies: readonly {
      readonly body: string;
      readonly delaySeconds?: number;
      readonly awsTraceHeader?: string;
    }[],
  ): Promise<readonly SentMessage[]>;
  receive(request: {
    max: number;
    waitSeconds: number;
    signal?: AbortSignal;
  }): Promise<readonly ReceivedMessage[]>;
  /** Deletes messages, 10 a request. Best effort: a message that stays is recognised when it comes again. */
  delete(messages: readonly Pick<ReceivedMessage, 'messageId' | 'receiptHandle'>[]): Promise<void>;
  /** Makes messages visible again after `seconds`. Best effort. */
  changeVisibility(
    messages: readonly Pick<ReceivedMessage, 'messageId' | 'receiptHandle'>[],
    seconds: number,
  ): Promise<void>;
}

/** The queue whose messages start the next reaper. */
export interface WakeQueue {
  send(token: string, delaySeconds: number): Promise<void>;
}

export type SentMessage =
  | { readonly outcome: 'sent'; readonly messageId: string }
  | {
      readonly outcome: 'failed';
      readonly reason: string;
      /** There if the queue could not be asked at all. */
      readonly error?: QueueUnavailableError;
    };

/** Structured logs and metrics. */
export interface Telemetry {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, error: unknown, fields?: Readonly<Record<string, unknown>>): void;
  count(metric: MetricName, value?: number): void;
  gauge(metric: MetricName, value: number): void;
  /** Absent where nothing is measured by job type. */
  timeOfType?(metric: TypeMetricName, type: string, ms: number): void;
}

/** Where events go. Publishing is best effort: an event that cannot be published is logged, and nothing waits for it. */
export interface Events {
  publish(events: readonly LeaseholdEvent[]): Promise<void>;
}
