import type { Claim, RunningJob } from '../../protocol/job.ts';
import type { JsonValue } from '../../wire/message.ts';
import { type AbortReason, Cancelled, LeaseLost, ShuttingDown } from '../abort-reasons.ts';
import type { CheckToken, Kept, Origin, Run, RunEnd, Suspicion } from '../cells/cells.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { HeldClaim } from './end-claim.ts';
import { growthOf, type HeartReport, rhythmOf, type Vitals } from './heart.ts';
import { watchClaim } from './watch-claim.ts';

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
  readonly reason: AbortReason | undefined;
  /** Whether the run stored a checkpoint that differs from the one it found. */
  readonly progressed: boolean;
}

/** Runs a handler with its heart beating, and ends it when its lease, its limits, an operator or the host say so. */
export async function supervise(
  parts: WorkerParts,
  { job, claim, lease, startedAt }: HeldClaim,
  place: RunPlace,
  bounds: RunBounds,
): Promise<Supervised> {
  const { settings, clock, telemetry, heart, cells } = parts;
  const terms = termsOf(cells.find(job.type), settings);
  const vitals: Vitals = {
    leaseMs: job.leaseMs,
    heartbeatMs: settings.heartbeatMs,
    growth: growthOf(settings),
    startedAt,
  };
  const over = new AbortController();
  const aborted = Promise.withResolvers<void>();
  let reason: AbortReason | undefined;
  let run: Run | undefined;
  const abort = (given: AbortReason) => {
    // A lease that is gone is the stronger reason: what follows from any other is no longer this worker's to decide.
    if (reason !== undefined && !(given instanceof LeaseLost)) return;
    reason = given;
    run?.abort(given);
    aborted.resolve();
  };
  const onReport = (report: HeartReport) => {
    if (report.kind === 'refused') telemetry.count('WritesFenced');
    abort(report.kind === 'refused' ? new LeaseLost('refused') : new Cancelled());
  };
  const saving = createSaving(parts, job, claim, () => {
    lease.refuse();
    abort(new LeaseLost('refused'));
  });

  if (!terms.fixedLease) heart.start({ ...vitals, claim, lease, onReport });
  const watching = watchClaim({ clock, lease, limits: terms, startedAt, abort, over: over.signal });
  const onStopping = () => abort(bounds.stopping.reason);
  if (bounds.stopping.aborted) onStopping();
  bounds.stopping.addEventListener('abort', onStopping, { signal: over.signal });

  run = cells.start({
    ...{ job, lease, ...place },
    origin: bounds.origin,
    maxStallMs: terms.maxStallMs,
    progressIntervalMs: rhythmOf(vitals, 0).intervalMs,
    save: saving.save,
    onProgress: () => lease.noteProgress(),
    onRetired: () => abort(new ShuttingDown('shutdown')),
  });
  if (reason !== undefined) run.abort(reason);
  void killIfItStays(parts, run, aborted.promise, over.signal, bounds);
  const outcome = await run.end.finally(() => {
    over.abort(OVER);
    heart.stop(claim);
  });
  await Promise.all([watching, saving.close()]);
  return { outcome, reason, progressed: saving.progressed() };
}

/** The handler's writes, with the numbers that fence them. */
function createSaving({ store, telemetry }: WorkerParts, job: RunningJob, claim: Claim, onLost: () => void) {
  const found = JSON.stringify(job.checkpoint);
  let stored = found;
  let seq = job.checkpointSeq;
  let underWay: Promise<unknown> = Promise.resolve();

  const write = async ({ checkpoint, progress }: Kept): Promise<'written' | 'lost'> => {
    seq += 1;
    const { outcome, ...written } = await store.checkpoint(claim, {
      seq,
      checkpoint: parsed(checkpoint),
      progress: parsed(progress),
    });
    if (outcome === 'written') {
      // The end of this run is decided by the counts as they are now.
      if ('counts' in written) Object.assign(job, written.counts);
      stored = checkpoint ?? stored;
      return 'written';
    }
    telemetry.count('WritesFenced');
    onLost();
    return 'lost';
  };
  return {
    save(kept: Kept) {
      const writing = write(kept);
      underWay = writing.catch(() => {});
      return writing;
    },
    progressed: () => stored !== found,
    async close() {
      await underWay;
    },
  };
}

const parsed = (text: string | undefined): JsonValue | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as JsonValue);

/** A handler that does not stop for its signal is ended with its cell: sooner when the host must go. */
async function killIfItStays(
  { clock, settings }: WorkerParts,
  run: Run,
  aborted: Promise<void>,
  over: AbortSignal,
  { stopping, releaseWithinMs }: RunBounds,
): Promise<void> {
  await aborted;
  const wait = (ms: number) => clock.sleep(ms, over).catch(() => {});
  const hostGoes = new Promise<void>((resolve) => {
    if (stopping.aborted) return resolve();
    stopping.addEventListener('abort', () => resolve(), { signal: over });
  });
  await Promise.race([wait(settings.killAfterMs), hostGoes.then(() => wait(releaseWithinMs))]);
  if (!over.aborted) run.kill('ignored signal');
}
