import { toJsonText } from '../../../protocol/rows/json-text.ts';
import { type AbortReason, LeaseLost } from '../../abort-reasons.ts';
import type { JobContext } from '../../define-job.ts';
import { loggableError } from '../../describe-error.ts';
import type { Kept } from '../cells.ts';
import type { ExactSignal, HandlerRun } from './run-handler.ts';

type LogFields = Readonly<Record<string, unknown>>;

export function createJobContext(
  options: HandlerRun,
  signal: ExactSignal,
): { readonly context: JobContext; close(): Promise<string | undefined> } {
  const { clock, log, job } = options;
  const named = { jobId: job.jobId, type: job.type, attempt: job.attempt };
  /** Logging must never fail a run. */
  const withName = (fields: LogFields | undefined): LogFields => {
    try {
      return { ...fields, ...named };
    } catch (error) {
      return { ...named, unreadableFields: loggableError(error) };
    }
  };
  let unsent: Kept = {};
  let lastProgress: string | undefined;
  let storedProgress: string | undefined;
  let lastWriteAt = clock.monotonic();
  let closed = false;

  const refuseIfLost = () => {
    if (closed) throw new LeaseLost('ended');
    const reason: AbortReason | undefined = signal.look();
    if (reason instanceof LeaseLost) throw reason;
  };

  /** Serializes now, so that later changes are not stored and errors surface at once. */
  const note = (what: keyof Kept, value: unknown) => {
    const text = toJsonText(what, value, options.limits.maxCheckpointBytes);
    options.onProgress();
    unsent = { ...unsent, [what]: text };
    lastProgress = unsent.progress ?? lastProgress;
  };

  const sendUnsent = async () => {
    const kept = unsent;
    unsent = {};
    refuseIfLost();
    if ((await options.save(kept)) === 'written') {
      storedProgress = kept.progress ?? storedProgress;
      return;
    }
    const reason = new LeaseLost('refused');
    signal.abort(reason);
    throw reason;
  };

  let underWay: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const send = (): Promise<void> => {
    lastWriteAt = clock.monotonic();
    next ??= underWay
      .catch(() => {})
      .then(() => {
        next = undefined;
        underWay = sendUnsent();
        return underWay;
      });
    return next;
  };

  return {
    context: {
      signal: signal.signal,
      trace: job.trace ?? {},
      save(place) {
        const store = async () => {
          refuseIfLost();
          note('checkpoint', place);
          await send();
        };
        const storing = store();
        // A handler that does not await it must not die of an unhandled rejection; its signal fires.
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
    /** Resolves after pending writes, to the last progress if it is not stored. */
    async close() {
      closed = true;
      await underWay.catch(() => {});
      return lastProgress === storedProgress ? undefined : lastProgress;
    },
  };
}
