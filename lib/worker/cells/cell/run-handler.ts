import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import { toJsonText } from '../../../protocol/rows/json-text.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { AbortReason } from '../../abort-reasons.ts';
import { withTrace } from '../../current-trace.ts';
import type { JobDefinition } from '../../define-job.ts';
import { openSpan } from '../../spans.ts';
import { thrownBy } from '../../thrown.ts';
import type { HandlerEnd, Kept } from '../cells.ts';
import type { JobData } from '../channel.ts';
import { createExactSignal } from './exact-signal.ts';
import { handlerJobOf } from './handler-job.ts';
import { createJobContext } from './job-context.ts';

export interface HandlerRun {
  readonly definition: JobDefinition;
  readonly job: JobData;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
  readonly limits: Pick<Settings, 'maxCheckpointBytes' | 'maxResultBytes'>;
  /** Minimum interval between writes of progress alone. */
  readonly progressIntervalMs: number;
  reasonNow(): AbortReason | undefined;
  save(kept: Kept): Promise<'written' | 'lost'>;
  onProgress(): void;
}

/** Runs one handler, in a cell or in its host. */
export function startHandler(run: HandlerRun) {
  const signal = createExactSignal(run.reasonNow);
  const { context, close } = createJobContext(run, signal);

  const handle = async (): Promise<HandlerEnd> => {
    try {
      const job = await handlerJobOf(run.definition, run.job);
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

/** What may be logged: the name of the error, a colon, and its message. */
const failureOf = (loggable: string) => ({
  type: /^\w+(?=: )/.exec(loggable)?.[0] ?? '_OTHER',
  message: loggable,
});
