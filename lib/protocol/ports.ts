import type { LeaseholdEvent } from '../wire/events.ts';
import type { JsonValue } from '../wire/message.ts';
import type { MetricName, PoolMetricName, TypeMetricName, WaitingMetricName } from '../wire/metrics.ts';
import type { TraceContext } from '../wire/trace.ts';
import type { ClaimOutcome } from './decisions/decide-claim.ts';
import type { Dispatch } from './decisions/dispatch.ts';
import type { MissingDataError, NewerFormatError, QueueUnavailableError } from './errors.ts';
import type {
  Claim,
  ClaimCounts,
  FailedEnd,
  Job,
  LeaseEntry,
  PendingJob,
  QueuedEnd,
  Restart,
  RunningJob,
  TypeLimits,
} from './job.ts';
import type { LimitStore } from './limits/limit-verbs.ts';
import type { RejectedMessage } from './writes/operator-writes.ts';
import type { ReapAction } from './writes/reaper-writes.ts';
import type { BatchResult, Row, RowWrite, WriteResult } from './writes/row-write.ts';
import type { NewJob } from './writes/worker-writes.ts';

/** The only source of time. */
export interface Clock {
  /** Wall time in epoch ms, for leases. */
  now(): number;
  /** Monotonic ms, for durations. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The only source of randomness. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** Unique across processes. */
  unique(): string;
}

/** The storage driver: conditional single-row writes and ordered index reads. Implemented by DynamoDB and by memory. */
export interface Table {
  /** Applies the write if its condition holds; throws only for faults, never for a refusal. */
  apply(write: RowWrite): Promise<WriteResult>;
  /** Sends 25 writes per request, to different rows; results keep the order. */
  applyMany(writes: readonly RowWrite[]): Promise<BatchResult[]>;
  /** Strongly consistent. */
  read(jobId: string): Promise<Row | undefined>;
  /** Strongly consistent, 100 rows per request; results keep the order. */
  readMany(jobIds: readonly string[]): Promise<(Row | undefined)[]>;
  query(request: IndexQuery): Promise<IndexPage>;
  /** Counts keys in (after, upTo], up to `atMost`; the cursor of an incomplete count continues it. */
  count(request: CountQuery): Promise<{ readonly count: number; readonly cursor?: Cursor }>;
}

export interface IndexQuery {
  /** @default 'byLease' */
  readonly index?: 'byLease' | 'byWait';
  readonly partition: string;
  /** Inclusive. */
  readonly upTo?: number;
  /** Exclusive. */
  readonly after?: number;
  readonly limit: number;
  readonly newestFirst?: boolean;
  readonly cursor?: Cursor;
}

export type Cursor = Readonly<Record<string, unknown>>;

export interface IndexPage {
  readonly rows: readonly Row[];
  readonly cursor?: Cursor;
}

export interface CountQuery extends Omit<IndexQuery, 'limit' | 'newestFirst'> {
  readonly atMost: number;
}

export type FencedOutcome =
  | { readonly outcome: 'written' }
  | { readonly outcome: 'lost'; readonly job?: Job };

/** `counts` is set when the first new checkpoint of a claim forgave its crashes. */
type CheckpointOutcome =
  | { readonly outcome: 'written'; readonly counts?: Pick<ClaimCounts, 'crashes' | 'releases'> }
  | { readonly outcome: 'lost'; readonly job?: Job };

export type HeartbeatOutcome =
  | { readonly outcome: 'extended'; readonly cancelRequested: boolean }
  | { readonly outcome: 'lost'; readonly job?: Job };

type RestartOutcome =
  | { readonly outcome: 'restarted'; readonly job: RunningJob }
  | { readonly outcome: 'withoutData'; readonly job: RunningJob; readonly error: MissingDataError }
  /** Still mine, but an operator requested cancellation. */
  | { readonly outcome: 'cancelRequested' }
  | { readonly outcome: 'lost'; readonly job?: Job };

/** Of one of several; the others may have succeeded. */
export interface Failure {
  readonly outcome: 'failed';
  readonly error: Error;
}

export type ReapOutcome =
  | { readonly outcome: 'written' }
  /** A stale index read, or another reaper was faster. */
  | { readonly outcome: 'moved' }
  | { readonly outcome: 'newer'; readonly error: NewerFormatError }
  | Failure;

export type OperatorOutcome =
  | { readonly outcome: 'written'; readonly job: Job }
  | { readonly outcome: 'absent' }
  | { readonly outcome: 'refused'; readonly job: Job };

export interface ClaimRequest {
  readonly job: NewJob | { readonly jobId: string };
  readonly owner: string;
  /** Received before, so its row may exist and is tried first. */
  readonly redelivered?: boolean;
  readonly typeLimits?: TypeLimits;
  readonly group?: string;
}

interface ScheduleOptions {
  readonly redelivered?: boolean;
  readonly waitsFor?: string;
}

export interface SchedulePlan extends ScheduleOptions {
  readonly job: NewJob;
  readonly dispatch: Dispatch;
}

export type ScheduleOutcome =
  | { readonly outcome: 'written'; readonly job: PendingJob }
  | { readonly outcome: 'exists'; readonly job?: Job };

/** The life of a job. Each verb is one conditional write that recognizes its own success after a lost reply. */
export interface JobStore extends LimitStore {
  claim(request: ClaimRequest): Promise<ClaimOutcome>;
  /** Up to 25 per request; outcomes keep the order. */
  claimMany(requests: readonly ClaimRequest[]): Promise<(ClaimOutcome | Failure)[]>;
  /** Does nothing if the job has a row. With `redelivered`, checks for a row before writing data. */
  schedule(job: NewJob, dispatch: Dispatch, options?: ScheduleOptions): Promise<ScheduleOutcome>;
  /** Up to 25 per request; outcomes keep the order. */
  scheduleMany(plans: readonly SchedulePlan[]): Promise<(ScheduleOutcome | Failure)[]>;
  heartbeat(claim: Claim, leaseUntil: number): Promise<HeartbeatOutcome>;
  /** Up to 25 per request; outcomes keep the order. */
  heartbeatMany(
    beats: readonly { readonly claim: Claim; readonly leaseUntil: number }[],
  ): Promise<(HeartbeatOutcome | Failure)[]>;
  /** `seq` must rise with each call of one claim. */
  checkpoint(
    claim: Claim,
    kept: { seq: number; checkpoint?: JsonValue; progress?: JsonValue },
  ): Promise<CheckpointOutcome>;
  complete(claim: Claim, result?: JsonValue, progress?: JsonValue): Promise<FencedOutcome>;
  /** Up to 25 per request. */
  completeMany(
    ends: readonly { readonly claim: Claim; readonly result?: JsonValue; readonly progress?: JsonValue }[],
  ): Promise<(FencedOutcome | Failure)[]>;
  retry(claim: Claim, next: QueuedEnd & { readonly lastError: string }): Promise<FencedOutcome>;
  fail(claim: Claim, end: FailedEnd): Promise<FencedOutcome>;
  /** Ends the claim of a dead cell and grants the next one, without the queue. */
  restart(claim: Claim, next: Restart): Promise<RestartOutcome>;
  release(claim: Claim, next: QueuedEnd): Promise<FencedOutcome>;
  /** Releases a claim whose reply was lost, if it was granted. */
  releaseUnknown(jobId: string, owner: string, dispatch: Dispatch): Promise<FencedOutcome>;
  cancelRunning(claim: Claim): Promise<FencedOutcome>;
  reject(message: RejectedMessage): Promise<{ readonly outcome: 'written'; readonly row: string }>;
  reap(entry: LeaseEntry, action: ReapAction): Promise<ReapOutcome>;
  /** Up to 25 per request. */
  reapMany(verdicts: readonly { entry: LeaseEntry; action: ReapAction }[]): Promise<ReapOutcome[]>;
  cancel(jobId: string): Promise<OperatorOutcome>;
  /** Runs a failed or cancelled job again, at its original time if that is still ahead, or immediately with `now`. */
  revive(jobId: string, options?: { readonly now?: boolean }): Promise<OperatorOutcome>;
  takeBack(jobId: string): Promise<OperatorOutcome>;
  /** Strongly consistent; treats rows past their retention as absent. */
  read(jobId: string): Promise<Job | undefined>;
}

export interface Hint {
  readonly jobId: string;
  readonly type?: string;
  readonly key?: string;
  readonly delaySeconds: number;
  readonly forwarded?: boolean;
}

export interface ReceivedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly sentAt: number;
  readonly receiveCount: number;
  readonly trace?: TraceContext;
}

export interface OutgoingMessage {
  readonly body: string;
  readonly type?: string;
  readonly key?: string;
  readonly delaySeconds?: number;
  readonly awsTraceHeader?: string;
}

interface HintsSent {
  readonly sent: number;
  readonly failed: readonly string[];
  readonly reason?: string;
}

export interface JobQueue {
  /** 10 per request; retries failed ones. */
  sendHints(hints: readonly Hint[]): Promise<HintsSent>;
  /** 10 per request; retries failed ones. */
  sendJobs(messages: readonly OutgoingMessage[]): Promise<readonly SentMessage[]>;
  receive(request: {
    max: number;
    waitSeconds: number;
    signal?: AbortSignal;
  }): Promise<readonly ReceivedMessage[]>;
  /** Best effort: a message that stays is recognized on redelivery. */
  delete(messages: readonly Pick<ReceivedMessage, 'messageId' | 'receiptHandle'>[]): Promise<void>;
  /** Best effort. */
  changeVisibility(
    messages: readonly Pick<ReceivedMessage, 'messageId' | 'receiptHandle'>[],
    seconds: number,
  ): Promise<void>;
}

/** Its messages start the next reaper. */
export interface WakeQueue {
  send(token: string, delaySeconds: number): Promise<void>;
}

export type SentMessage =
  | { readonly outcome: 'sent'; readonly messageId: string }
  | {
      readonly outcome: 'failed';
      readonly reason: string;
      /** The queue did not answer at all. */
      readonly error?: QueueUnavailableError;
    };

export interface Telemetry {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, error: unknown, fields?: Readonly<Record<string, unknown>>): void;
  count(metric: MetricName, value?: number): void;
  gauge(metric: MetricName, value: number): void;
  countThrottled?(limit: string, requests: number): void;
  timeOfType?(metric: TypeMetricName, type: string, ms: number): void;
  gaugeOfType?(metric: WaitingMetricName, type: string, value: number): void;
  gaugeOfPool?(metric: PoolMetricName, pool: string, value: number): void;
}

/** Best effort: failures are logged and delay nothing. */
export interface Events {
  publish(events: readonly LeaseholdEvent[]): Promise<void>;
}
