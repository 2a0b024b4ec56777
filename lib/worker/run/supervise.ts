import { beatIntervalMs } from '../../settings/heartbeat-timing.ts';
import { type AbortReason, Cancelled, LeaseLost } from '../abort-reasons.ts';
import type { Origin, Run, RunEnd, Work } from '../cells/cells.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createCheckpointWriter } from './checkpoint-writer.ts';
import type { HeartReport } from './heart-loop.ts';
import type { HeldClaim } from './held-claim.ts';
import type { createClaimWatch } from './watch-claim.ts';

/** Without a reason, `abort` builds an error with a stack. */
const OVER = 'over';

export interface RunBounds {
  readonly stopping: AbortSignal;
  readonly releaseWithinMs: number;
  readonly origin?: Origin;
}

export interface Supervised {
  readonly outcome: RunEnd;
  readonly reason: AbortReason | undefined;
  readonly progressed: boolean;
}

export async function supervise(
  parts: WorkerParts & { readonly watchClaim: ReturnType<typeof createClaimWatch> },
  held: HeldClaim,
  placement: Pick<Work, 'maxInCell' | 'isExcusable'>,
  bounds: RunBounds,
): Promise<Supervised> {
  const { settings, telemetry, heart, cells, watchClaim } = parts;
  const { job, claim, lease, startedAt } = held;
  const terms = termsOf(cells.find(job.type), settings);
  const intervalMs = beatIntervalMs(job.leaseMs, settings);
  // Created lazily: most runs are never stopped.
  let over: AbortController | undefined;
  let reason: AbortReason | undefined;
  let run: Run | undefined;
  const abort = (given: AbortReason) => {
    // A lost lease overrides other reasons, because this worker may no longer act on them.
    if (reason !== undefined && !(given instanceof LeaseLost)) return;
    reason = given;
    if (run !== undefined) stopRun(run, given);
  };
  const stopRun = (asked: Run, given: AbortReason): void => {
    asked.abort(given);
    if (over !== undefined) return;
    over = new AbortController();
    void killIfStillRunning(parts, asked, over.signal, bounds);
  };
  const onReport = (report: HeartReport) => {
    if (report === 'refused') telemetry.count('WritesFenced');
    abort(report === 'refused' ? new LeaseLost('refused') : new Cancelled());
  };
  const writer = createCheckpointWriter(parts, held, () => {
    lease.refuse();
    abort(new LeaseLost('refused'));
  });

  if (!terms.fixedLease) heart.start({ leaseMs: job.leaseMs, intervalMs, claim, lease, onReport });
  const unwatch = watchClaim({ lease, limits: terms, startedAt, abort });
  const onStopping = () => abort(bounds.stopping.reason);
  if (bounds.stopping.aborted) onStopping();
  bounds.stopping.addEventListener('abort', onStopping);

  run = cells.start({
    ...placement,
    job,
    lease,
    origin: bounds.origin,
    maxStallMs: terms.maxStallMs,
    progressIntervalMs: intervalMs,
    save: writer.save,
    onProgress: () => lease.noteProgress(),
  });
  if (reason !== undefined) stopRun(run, reason);
  const outcome = await run.end.finally(() => {
    over?.abort(OVER);
    bounds.stopping.removeEventListener('abort', onStopping);
    unwatch();
    heart.stop(claim);
  });
  // The cell checks the lease too, so its handler may stop before this host notices.
  if (outcome.kind === 'threw' && !lease.isHeld()) reason ??= new LeaseLost('lapsed');
  await writer.close();
  return { outcome, reason, progressed: writer.progressed() };
}

async function killIfStillRunning(
  { clock, settings }: WorkerParts,
  run: Run,
  over: AbortSignal,
  { stopping, releaseWithinMs }: RunBounds,
): Promise<void> {
  const wait = (ms: number) => clock.sleep(ms, over).catch(() => {});
  const hostStops = new Promise<void>((resolve) => {
    if (stopping.aborted) return resolve();
    stopping.addEventListener('abort', () => resolve(), { signal: over });
  });
  await Promise.race([wait(settings.killAfterMs), hostStops.then(() => wait(releaseWithinMs))]);
  if (!over.aborted) run.kill();
}
