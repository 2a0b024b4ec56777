import type { RunningJob } from '../../protocol/job.ts';
import type { AbortReason } from '../abort-reasons.ts';
import type { JobOptions } from '../define-job.ts';
import type { LeaseClock } from '../run/lease-clock.ts';
import type { Thrown } from './thrown.ts';

/** Where handlers run: in child processes, or (`isolation: 'none'`) beside their host. */
export interface Cells {
  /** Resolves when a handler can be started; rejects when the jobs module cannot be loaded. */
  ready(): Promise<void>;
  /** Whether some cell can be given a job now. */
  isReady(): boolean;
  /** Whether a job that came now would find a cell, if not at once. */
  isUsable(): boolean;
  /** The types that the cells know. */
  types(): readonly string[];
  /** What a type says of itself; undefined for a type that the cells do not know. */
  find(type: string): JobOptions | undefined;
  /** Asks the schema of a type about a payload, before anything is claimed. */
  check(type: string, payload: string): Promise<PayloadCheck>;
  /** A check whose message is not run after all. */
  forget(check: PayloadCheck): void;
  /** Starts a handler. */
  start(work: Work): Run;
  /** Resolves when no cell is being ended: a Lambda must not be frozen with one in it, it would thaw in the next job. */
  quiet(): Promise<void>;
  /** From now on nobody is charged for the end of a cell. */
  drain(): void;
  close(): Promise<void>;
}

export type PayloadCheck =
  | { readonly kind: 'accepted'; readonly token?: CheckToken }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The type is not known here. A newer worker may know it: its payload is judged there. */
  | { readonly kind: 'unknownType' }
  /** The cell died over it, or gave no answer. The message becomes a job like any other, and is charged as one. */
  | { readonly kind: 'unanswered'; readonly suspicion?: Suspicion };

/** Names a payload that a cell has parsed already, so that it need not travel twice. */
export interface CheckToken {
  readonly cell: number;
  readonly check: number;
}

/** A claimed job, and what its handler is to be given besides. */
export interface Work {
  readonly job: RunningJob;
  readonly lease: LeaseClock;
  /** How long its handler may block the event loop. */
  readonly maxStallMs: number;
  /** Progress alone is stored no more often than this. */
  readonly progressIntervalMs: number;
  readonly suspicion?: Suspicion;
  readonly checked?: CheckToken;
  readonly origin?: Origin;
  /** Stores what the handler asks for; its claim's fence decides. */
  save(kept: Kept): Promise<'written' | 'lost'>;
  /** A sign of progress, whether or not it is stored. */
  onProgress(): void;
  /** The cell is about to be ended for another job's sake: the handler is to stop, and the job to go on elsewhere. */
  onRetired(suspicion?: Suspicion): void;
}

/** Where a job's message came from, for the handler's logs and traces. */
export interface Origin {
  readonly requestId?: string;
  readonly traceId?: string;
}

/** A handler's place and progress, as JSON text. */
export interface Kept {
  readonly checkpoint?: string;
  readonly progress?: string;
}

/** A handler that runs, or waits for a cell. */
export interface Run {
  readonly end: Promise<RunEnd>;
  /** Fires the handler's signal. */
  abort(reason: AbortReason): void;
  /** Ends the handler by ending its cell, neighbours first asked to stop. `end` tells when it is dead. */
  kill(why: KilledFor): void;
}

/** How a handler ended by itself. Its result is JSON text. */
export type HandlerEnd =
  | { readonly kind: 'returned'; readonly result?: string }
  | { readonly kind: 'threw'; readonly error: Thrown };

export type RunEnd =
  | HandlerEnd
  /** Its cell is no more. */
  | ({ readonly kind: 'died' } & Death)
  /** There is no cell that could run it, and there will be none soon. It never began. */
  | { readonly kind: 'unplaced'; readonly cause: string };

export interface Death {
  readonly cause: string;
  /** Whether this job alone can have been the reason: it was alone in a cell that no other job had used. Else nobody is charged. */
  readonly isToBlame: boolean;
  /** With whom the job may share a cell from now on; undefined where nothing speaks against it. */
  readonly suspicion?: Suspicion;
}

/** Why a host ends a cell. */
export type KilledFor = 'ignored signal' | 'stalled' | 'memory' | 'closing';

/** Jobs whose cell died share cells only with one another, fewer and fewer, until the one that kills is alone. */
export interface Suspicion {
  /** The death after which they are suspected. */
  readonly group: number;
  /** How many of them may share a cell; 1 means alone, in a cell that nobody has used. */
  readonly limit: number;
}
