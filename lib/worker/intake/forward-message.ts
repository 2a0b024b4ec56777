import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import type { Hint, ReceivedMessage } from '../../protocol/ports.ts';
import type { NewJob } from '../../protocol/writes/worker-writes.ts';
import { DEFAULT_POOL, poolOf } from '../../wire/pools.ts';
import { UnknownTypeError } from '../registry.ts';
import { sendHint } from '../run/send-hint.ts';
import type { WorkerParts } from '../worker-parts.ts';

type Runner = Pick<WorkerParts, 'cells' | 'routing'>;

const isOfMyPool = ({ routing }: Runner, type: string): boolean =>
  routing === undefined || poolOf(routing.pools, type) === routing.pool;

export const runsType = (parts: Runner, type: string): boolean =>
  isOfMyPool(parts, type) && parts.cells.find(type) !== undefined;

/** Stores the job as a row and hints the right queue, so that the wrong queue costs no budget. */
export async function forwardJob(parts: WorkerParts, message: ReceivedMessage, job: NewJob): Promise<void> {
  const { clock, store, settings } = parts;
  const dispatch = planDispatch(clock.now(), clock.now(), settings);
  const kept = await store.schedule(job, dispatch, { redelivered: message.receiveCount > 1 });
  report(parts, job);
  if (kept.outcome === 'written') await sendHint(parts, { ...job, forwarded: true }, dispatch);
}

/** Only once: where workers disagree about pools, the dispatch lease brings the job back after the deploy. */
export async function forwardHint(
  parts: WorkerParts,
  hint: Omit<Hint, 'delaySeconds'> & { readonly type: string },
): Promise<void> {
  report(parts, hint);
  if (hint.forwarded) return;
  const { clock, settings } = parts;
  await sendHint(parts, { ...hint, forwarded: true }, planDispatch(clock.now(), clock.now(), settings));
}

function report(
  parts: WorkerParts,
  { jobId, type }: { readonly jobId: string; readonly type: string },
): void {
  const { telemetry, routing, cells } = parts;
  telemetry.count('MessagesForwarded');
  telemetry.warn('message forwarded', {
    jobId,
    type,
    pool: routing === undefined ? DEFAULT_POOL : poolOf(routing.pools, type),
    reason: isOfMyPool(parts, type)
      ? new UnknownTypeError(type, cells.types()).message
      : 'another pool runs this type',
  });
}
