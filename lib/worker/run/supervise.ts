import { type AbortReason, Cancelled, LeaseLost, ShuttingDown } from '../abort-reasons.ts';
import type { CheckToken, Origin, Run, RunEnd, Suspicion } from '../cells/cells.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { growthOf, type HeartReport, rhythmOf, type Vitals } from './heart.ts';
import type { HeldClaim } from './held-claim.ts';
import { onAbort } from './on-abort.ts';
import { createSaving } from './saving.ts';
import type { ClaimWatch } from './watch-claim.ts';

/** By itself, `abort` makes an error with a stack for a reason, which nobody reads here. */
const OVER = 'over';

/** How a host bounds a run. */
export interface RunBounds {
  /** Fires with a `ShuttingDown` when the job is to stop and be released. */
  readonly stopping: AbortSignal;
  /** How long to wait for a handler that was asked to stop. */
  readonly releaseWithinMs: number;
  readonly origin?: Origin;
}

/** Where a run may go, and what is there already. */
export interface RunPlace {
  readonly suspicion?: Suspicion;
  readonly checked?: CheckToken;
}

/** What came of a run, before anything of it is stored. */
export interface Supervised {
  readonly outcome: RunEnd;
  /** Why it was told to stop, if it was for a reason of its own. */
  readonly reason: AbortReason | undefined;
  /** It was told to stop because its cell had to end, not for its own sake: it can go on at once, where it may. */
  readonly madeWay?: { readonly suspicion?: Suspicion };
  /** Whether the run stored a checkpoint that differs from the one it found. */
  readonly progressed: boolean;
}

/** Runs a handler with its heart beating, and ends it when its lease, its limits, an operator or the host say so. */
export async function supervise(
  parts: WorkerParts & { readonly claimWatch: ClaimWatch },
  held: HeldClaim,
  place: RunPlace,
  bounds: RunBounds,
): Promise<Supervised> {
  const { settings, telemetry, heart, cells, claimWatch } = parts;
  const { job, claim, lease, startedAt } = held;
  const terms = termsOf(cells.find(job.type), settings);
  const vitals: Vitals = {
    leaseMs: job.leaseMs,
    heartbeatMs: settings.heartbeatMs,
    growth: growthOf(settings),
    startedAt,
  };
  // Made only for a run that is asked to stop: most are not.
  let over: AbortController | undefined;
  let reason: AbortReason | undefined;
  let madeWay: Supervised['madeWay'];
  let run: Run | undefined;
  const abort = (given: AbortReason) => {
    // A lease that is gone is the stronger reason: what follows from any other is no longer this worker's to decide.
    if (reason !== undefined && !(given instanceof LeaseLost)) return;
    reason = given;
    madeWay = undefined;
    if (run !== undefined) stopRun(run, given);
  };
  const stopRun = (asked: Run, given: AbortReason): void => {
    asked.abort(given);
    if (over !== undefined) return;
    over = new AbortController();
    void killIfItStays(parts, asked, over.signal, bounds);
  };
  const makeWay = (suspicion?: Suspicion) => {
    if (reason !== undefined) return;
    abort(new ShuttingDown('shutdown'));
    madeWay = { suspicion };
  };
  const onReport = (report: HeartReport) => {
    if (report.kind === 'refused') telemetry.count('WritesFenced');
    abort(report.kind === 'refused' ? new LeaseLost('refused') : new Cancelled());
  };
  const saving = createSaving(parts, held, () => {
    lease.refuse();
    abort(new LeaseLost('refused'));
  });

  if (!terms.fixedLease) heart.start({ ...vitals, claim, lease, onReport });
  const unwatch = claimWatch.watch({ lease, limits: terms, startedAt, abort });
  const onStopping = () => abort(bounds.stopping.reason);
  if (bounds.stopping.aborted) onStopping();
  const stopListening = onAbort(bounds.stopping, onStopping);

  run = cells.start({
    ...{ job, lease, ...place },
    origin: bounds.origin,
    maxStallMs: terms.maxStallMs,
    progressIntervalMs: rhythmOf(vitals, 0).intervalMs,
    save: saving.save,
    onProgress: () => lease.noteProgress(),
    onRetired: makeWay,
  });
  if (reason !== undefined) stopRun(run, reason);
  const outcome = await run.end.finally(() => {
    over?.abort(OVER);
    stopListening();
    unwatch();
    heart.stop(claim);
  });
  // The cell reads the lease's end by itself, and its handler may stop for it before this host has looked.
  if (outcome.kind === 'threw' && !lease.isHeld()) reason ??= new LeaseLost('lapsed');
  await saving.close();
  return { outcome, reason, madeWay, progressed: saving.progressed() };
}

/** A handler that does not stop for its signal is ended with its cell: sooner when the host must go. */
async function killIfItStays(
  { clock, settings }: WorkerParts,
  run: Run,
  over: AbortSignal,
  { stopping, releaseWithinMs }: RunBounds,
): Promise<void> {
  const wait = (ms: number) => clock.sleep(ms, over).catch(() => {});
  const hostGoes = new Promise<void>((resolve) => {
    if (stopping.aborted) return resolve();
    stopping.addEventListener('abort', () => resolve(), { signal: over });
  });
  await Promise.race([wait(settings.killAfterMs), hostGoes.then(() => wait(releaseWithinMs))]);
  if (!over.aborted) run.kill('ignored signal');
}
