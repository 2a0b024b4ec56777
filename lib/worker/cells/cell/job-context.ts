import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import { toJsonText } from '../../../protocol/rows/json-text.ts';
import type { JsonValue } from '../../../wire/message.ts';
import type { TraceContext } from '../../../wire/trace.ts';
import { type AbortReason, LeaseLost } from '../../abort-reasons.ts';
import type { JobContext } from '../../define-job.ts';
import type { Kept } from '../cells.ts';
import { loggableError } from '../describe-error.ts';
import type { LiveSignal } from './live-signal.ts';

type LogFields = Readonly<Record<string, unknown>>;

export interface ContextOptions {
  readonly named: { readonly jobId: string; readonly type: string; readonly attempt: number };
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
  readonly live: LiveSignal;
  readonly trace?: TraceContext;
  readonly maxCheckpointBytes: number;
  /** Progress alone is stored no more often than this. */
  readonly progressIntervalMs: number;
  save(kept: Kept): Promise<'written' | 'lost'>;
  onProgress(): void;
}

export interface ContextOfRun {
  readonly context: JobContext;
  /** The run is over: from now on nothing is stored. Resolves when no write is under way. */
  close(): Promise<void>;
}

/** What the handler holds in its hands: its writes go one at a time, and the newest replaces those that still wait. */
export function createJobContext(options: ContextOptions): ContextOfRun {
  const { named, clock, log, live } = options;
  /** What a handler logs must not fail its run, even where a field cannot be read. */
  const withName = (fields: LogFields | undefined): LogFields => {
    try {
      return { ...fields, ...named };
    } catch (error) {
      return { ...named, unreadableFields: loggableError(error) };
    }
  };
  let unsent: Kept = {};
  let sending: Promise<void> | undefined;
  let lastWriteAt = clock.monotonic();
  let closed = false;

  const refuseIfLost = () => {
    if (closed) throw new LeaseLost('ended');
    const reason: AbortReason | undefined = live.look();
    if (reason instanceof LeaseLost) throw reason;
  };

  /** Takes the value as it is now: what is refused is refused at once, and what changes later is not what was kept. */
  const note = (what: keyof Kept, value: JsonValue) => {
    const text = toJsonText(what, value, options.maxCheckpointBytes);
    options.onProgress();
    unsent = { ...unsent, [what]: text };
  };

  const sendUnsent = async () => {
    const kept = unsent;
    unsent = {};
    refuseIfLost();
    if ((await options.save(kept)) === 'written') return;
    const reason = new LeaseLost('refused');
    live.abort(reason);
    throw reason;
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

  return {
    context: {
      signal: live.signal,
      trace: options.trace ?? {},
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
        send().catch((error) => log.warn('progress not stored', { ...named, reason: loggableError(error) }));
      },
      log: {
        info: (message, fields) => log.info(message, withName(fields)),
        warn: (message, fields) => log.warn(message, withName(fields)),
        error: (message, error, fields) => log.error(message, error, withName(fields)),
      },
    },
    async close() {
      closed = true;
      await sending?.catch(() => {});
    },
  };
}
