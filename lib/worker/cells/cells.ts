import type { RunningJob } from '../../protocol/job.ts';
import type { Clock, Telemetry } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import type { AbortReason } from '../abort-reasons.ts';
import type { JobOptions } from '../define-job.ts';
import type { LeaseClock } from '../run/lease-clock.ts';
import type { Thrown } from '../thrown.ts';

/** Where handlers run: in child processes, or in the host with `isolation: 'none'`. */
export interface Cells {
  ready(): Promise<void>;
  /** A cell can take a job now. */
  isReady(): boolean;
  /** A new job would get a cell, perhaps not at once. */
  isUsable(): boolean;
  types(): readonly string[];
  /** Undefined for unknown types. */
  find(type: string): JobOptions | undefined;
  start(work: Work): Run;
  /** Resolves when no cell is being killed: Lambda would freeze the kill and resume it during the next job. */
  quiet(): Promise<void>;
  /** From now on, no job is charged for a cell's end. */
  drain(): void;
  close(): Promise<void>;
}

export interface CellsOptions {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly settings: Settings;
  readonly serviceName: string;
  readonly cells: number;
  readonly concurrency: number;
  /** Keeps one more cell ready to replace a dead one. @default false */
  readonly spare?: boolean;
}

export interface Work {
  readonly job: RunningJob;
  readonly lease: LeaseClock;
  readonly maxStallMs: number;
  readonly progressIntervalMs: number;
  /** After an unexplained death: how many such jobs may share a cell. */
  readonly maxInCell?: number;
  /** Not charged for an error in a broken cell, but only once, or a job that breaks cells would never end. */
  readonly isExcusable?: boolean;
  readonly origin?: Origin;
  save(kept: Kept): Promise<'written' | 'lost'>;
  onProgress(): void;
}

export interface Origin {
  readonly requestId?: string;
  readonly traceId?: string;
}

/** JSON texts. */
export interface Kept {
  readonly checkpoint?: string;
  readonly progress?: string;
}

export interface Run {
  readonly end: Promise<RunEnd>;
  abort(reason: AbortReason): void;
  /** Kills the cell of a handler that ignores its signal. */
  kill(): void;
}

export type HandlerEnd =
  | {
      readonly kind: 'returned';
      readonly result?: string;
      readonly progress?: string;
    }
  | { readonly kind: 'threw'; readonly error: Thrown };

export type RunEnd =
  | HandlerEnd
  | ({ readonly kind: 'died' } & Death)
  | { readonly kind: 'unplaced'; readonly cause: string };

export interface Death {
  readonly cause: string;
  /** It was alone in a fresh cell, so only it can be the cause. */
  readonly crashedAlone: boolean;
  /** For the next run; undefined if the cause is known. */
  readonly maxInCell?: number;
}
