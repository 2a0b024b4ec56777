import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import { toJsonText } from '../../../protocol/rows/json-text.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import { checkText, SchemaRefusedError } from '../../check-schema.ts';
import { withTrace } from '../../current-trace.ts';
import type { HandlerJob, JobDefinition, Schema } from '../../define-job.ts';
import { openSpan } from '../../spans.ts';
import { thrownBy } from '../../thrown.ts';
import type { HandlerEnd, Kept } from '../cells.ts';
import type { JobData } from '../channel.ts';
import { createJobContext } from './job-context.ts';

export interface HandlerRun {
  readonly definition: JobDefinition;
  readonly job: JobData;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
  readonly limits: Pick<Settings, 'maxCheckpointBytes' | 'maxResultBytes'>;
  readonly progressIntervalMs: number;
  reasonNow(): AbortReason | undefined;
  save(kept: Kept): Promise<'written' | 'lost'>;
  onProgress(): void;
}

export function startHandler(run: HandlerRun) {
  const signal = createExactSignal(run.reasonNow);
  const { context, close } = createJobContext(run, signal);

  const handle = async (): Promise<HandlerEnd> => {
    try {
      const job = await handlerJobOf(run);
      const result = (await run.definition.run(job, context)) ?? undefined;
      if (result === undefined) return { kind: 'returned' };
      // Serialized now, because code left running may still change it.
      return { kind: 'returned', result: toJsonText('result', result, run.limits.maxResultBytes) };
    } catch (error) {
      const { backoff } = run.definition;
      const chosen = () => (typeof backoff === 'function' ? backoff(run.job.errors + 1, error) : undefined);
      return { kind: 'threw', error: thrownBy(error, chosen) };
    }
  };

  const span = openSpan({ operation: 'process', name: 'run', job: run.job });
  const end = withTrace(run.job.trace, () => span.within(handle)).then(async (ended) => {
    span.end(ended.kind === 'threw' ? failureOf(ended.error.loggable) : undefined);
    const progress = await close();
    return ended.kind === 'returned' && progress !== undefined ? { ...ended, progress } : ended;
  });
  return { end, abort: signal.abort, look: signal.look };
}

const failureOf = (loggable: string) => ({
  type: /^\w+(?=: )/.exec(loggable)?.[0] ?? '_OTHER',
  message: loggable,
});

/** The row decides on type and payload, not the message. */
async function handlerJobOf({ definition, job }: HandlerRun): Promise<HandlerJob> {
  const { trace: _, checkpoint, ...fields } = job;
  const accept = async (what: string, schema: Schema | undefined, text: string): Promise<unknown> => {
    const checked = await checkText(schema, text);
    if (checked.ok) return checked.value;
    throw new SchemaRefusedError(what, checked.reason);
  };
  return {
    ...fields,
    payload: await accept('payload', definition.payload, job.payload),
    checkpoint: checkpoint && (await accept('checkpoint', definition.checkpoint, checkpoint)),
    idempotencyKey: job.jobId,
    fencingToken: job.attempt,
  };
}

export interface ExactSignal {
  readonly signal: AbortSignal;
  look(): AbortReason | undefined;
  abort(reason: AbortReason): void;
}

/** Reads the lease itself, so that a handler that blocks its event loop sees the current state. @internal */
export function createExactSignal(reasonNow: () => AbortReason | undefined): ExactSignal {
  const controller = new AbortController();
  const { signal } = controller;
  let reason: AbortReason | undefined;
  const abort = (given: AbortReason): void => {
    reason ??= given;
    controller.abort(reason);
  };
  const look = (): AbortReason | undefined => {
    const current = reason ?? reasonNow();
    if (reason === undefined && current !== undefined) abort(current);
    return reason;
  };
  const throwIfAborted = () => {
    if (look() !== undefined) throw reason;
  };
  Object.defineProperties(signal, {
    aborted: { configurable: true, get: () => look() !== undefined },
    reason: { configurable: true, get: look },
    throwIfAborted: { configurable: true, value: throwIfAborted },
  });
  return { signal, look, abort };
}
