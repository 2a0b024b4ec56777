import type { Claim, RunningJob } from '../../protocol/job.ts';
import type { FencedOutcome } from '../../protocol/ports.ts';
import { toJsonText } from '../../protocol/rows/json-text.ts';
import type { JsonValue } from '../../wire/message.ts';
import { type AbortReason, LeaseLost } from '../abort-reasons.ts';
import type { JobContext } from '../define-job.ts';
import type { LeaseClock } from '../run/lease-clock.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { loggableError } from './describe-error.ts';

export interface ContextOptions {
  readonly parts: Pick<WorkerParts, 'store' | 'settings' | 'clock' | 'telemetry'>;
  readonly job: RunningJob;
  readonly claim: Claim;
  readonly lease: LeaseClock;
  readonly signal: AbortSignal;
  readonly abort: (reason: AbortReason) => void;
  /** Progress alone is written no more often than this. */
  readonly progressIntervalMs: number;
}

export interface ContextOfRun {
  readonly context: JobContext;
  /** Whether this run stored a checkpoint that differs from the one it found. */
  progressed(): boolean;
  /** The run is over: from now on nothing is stored. Resolves when no write is under way. */
  close(): Promise<void>;
}

interface Unsent {
  checkpoint?: JsonValue;
  progress?: JsonValue;
}

/** What the handler holds in its hands: its writes go one at a time, and the newest replaces those that still wait. */
export function createJobContext(options: ContextOptions): ContextOfRun {
  const { job, claim, lease, signal, abort } = options;
  const { store, settings, clock, telemetry } = options.parts;
  const found = JSON.stringify(job.checkpoint);
  let stored = found;
  let seq = job.checkpointSeq;
  let unsent: Unsent = {};
  let sending: Promise<void> | undefined;
  let lastWriteAt = clock.monotonic();
  let closed = false;

  const refuseIfLost = () => {
    if (closed) throw new LeaseLost('ended');
    if (signal.reason instanceof LeaseLost) throw signal.reason;
    if (lease.isHeld()) return;
    const reason = new LeaseLost('lapsed');
    abort(reason);
    throw reason;
  };

  /** Takes the value as it is now: what is refused is refused at once, and what changes later is not what was kept. */
  const note = (what: keyof Unsent, value: JsonValue) => {
    const text = toJsonText(what, value, settings.maxCheckpointBytes);
    lease.noteProgress();
    unsent = { ...unsent, [what]: JSON.parse(text) };
  };

  const sendUnsent = async () => {
    const kept = unsent;
    unsent = {};
    refuseIfLost();
    seq += 1;
    const { outcome }: FencedOutcome = await store.checkpoint(claim, { seq, ...kept });
    if (outcome === 'lost') {
      telemetry.count('WritesFenced');
      lease.refuse();
      const reason = new LeaseLost('refused');
      abort(reason);
      throw reason;
    }
    if (kept.checkpoint !== undefined) stored = JSON.stringify(kept.checkpoint);
  };

  /** Joins the write that waits its turn, or becomes it. */
  let waiting: Promise<void> | undefined;
  const send = (): Promise<void> => {
    lastWriteAt = clock.monotonic();
    waiting ??= (sending ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        waiting = undefined;
        const mine = sendUnsent().finally(() => {
          if (sending === mine) sending = undefined;
        });
        sending = mine;
        return mine;
      });
    return waiting;
  };

  const noteCheckpoint = async (place: JsonValue) => {
    refuseIfLost();
    note('checkpoint', place);
  };

  const named = { jobId: job.jobId, type: job.type, attempt: job.attempt };
  return {
    context: {
      signal,
      save(place) {
        const storing = noteCheckpoint(place).then(send);
        // A handler that does not wait for it must not have its process killed by an unhandled rejection: the signal tells.
        storing.catch(() => {});
        return storing;
      },
      progress(value) {
        refuseIfLost();
        note('progress', value);
        if (clock.monotonic() - lastWriteAt < options.progressIntervalMs) return;
        send().catch((error) =>
          telemetry.warn('progress not stored', { ...named, reason: loggableError(error) }),
        );
      },
      log: {
        info: (message, fields) => telemetry.info(message, { ...fields, ...named }),
        warn: (message, fields) => telemetry.warn(message, { ...fields, ...named }),
        error: (message, error, fields) => telemetry.error(message, error, { ...fields, ...named }),
      },
    },
    progressed: () => stored !== found,
    async close() {
      closed = true;
      await sending?.catch(() => {});
    },
  };
}
