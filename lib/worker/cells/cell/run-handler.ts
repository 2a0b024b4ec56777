import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import { toJsonText } from '../../../protocol/rows/json-text.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import type { JobDefinition } from '../../define-job.ts';
import type { HandlerEnd, Kept } from '../cells.ts';
import type { JobData } from '../channel.ts';
import { thrownBy } from '../thrown.ts';
import { withTrace } from './current-trace.ts';
import { handlerJobOf } from './handler-job.ts';
import { createJobContext } from './job-context.ts';
import { createLiveSignal } from './live-signal.ts';

export interface HandlerRun {
  readonly definition: JobDefinition;
  readonly job: JobData;
  /** What the schema made of the payload, if it was asked before. */
  readonly checked?: { readonly value: unknown };
  readonly clock: Clock;
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
  readonly maxCheckpointBytes: number;
  readonly maxResultBytes: number;
  readonly progressIntervalMs: number;
  /** Why the run must stop, as far as can be seen right now. */
  reasonNow(): AbortReason | undefined;
  save(kept: Kept): Promise<'written' | 'lost'>;
  onProgress(): void;
}

export interface StartedHandler {
  readonly end: Promise<HandlerEnd>;
  abort(reason: AbortReason): void;
}

/** Runs one handler to its end, in a cell or beside its host. */
export function startHandler(run: HandlerRun): StartedHandler {
  const live = createLiveSignal(run.reasonNow);
  const { jobId, type, attempt, trace } = run.job;
  const { context, close } = createJobContext({ ...run, live, trace, named: { jobId, type, attempt } });

  const handle = async (): Promise<HandlerEnd> => {
    try {
      const view = await handlerJobOf(run.definition, run.job, run.clock, run.checked);
      if (!view.ok) return { kind: 'threw', error: view.error };
      const result = (await run.definition.run(view.job, context)) ?? undefined;
      if (result === undefined) return { kind: 'returned' };
      // As it is now: what was left running may still change it, even into something that cannot be kept.
      return { kind: 'returned', result: toJsonText('result', result, run.maxResultBytes) };
    } catch (error) {
      return { kind: 'threw', error: thrownBy(error) };
    }
  };

  const end = withTrace(trace, handle).then(async (ended) => {
    await close();
    return ended;
  });
  return { end, abort: live.abort };
}
