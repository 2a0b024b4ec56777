import { MOST_EXCUSES } from '../../protocol/decisions/decide-reap.ts';
import { createEventOutlet, type EventOutlet } from '../../protocol/event-outlet.ts';
import { claimOf, type RunningJob } from '../../protocol/job.ts';
import { eventDetailOf, namesType } from '../../wire/events.ts';
import { Cancelled, LeaseLost, ShuttingDown, TimedOut } from '../abort-reasons.ts';
import type { CheckToken, Death, Suspicion } from '../cells/cells.ts';
import { thrownBy } from '../cells/thrown.ts';
import { UnknownTypeError } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { type Ending, Ends } from './end-claim.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';
import { type ClockReading, LeaseClock } from './lease-clock.ts';
import { createRestarts } from './restart-claim.ts';
import { type RunBounds, type RunPlace, type Supervised, supervise } from './supervise.ts';
import { createClaimWatch } from './watch-claim.ts';

/** A job that this worker has claimed. */
export interface ClaimedJob {
  readonly job: RunningJob;
  /** When the claim was sent: the lease runs from there. */
  readonly sentAt: ClockReading;
  /** A cell has the payload already, as its schema returned it. */
  readonly checked?: CheckToken;
  readonly suspicion?: Suspicion;
}

export interface ClaimRunner extends Pick<EventOutlet, 'publish'>, Pick<Ends, 'lostItsData'> {
  /**
   * Runs one claimed job to its end, over as many cells as it takes, and says how it ended. `returned` is told when no handler will run
   * for it any more, and only its end is to be stored.
   */
  run(claimed: ClaimedJob, bounds: RunBounds, returned?: () => void): Promise<Ending>;
  /** Puts a claimed job back that was not started; its message is still in hand or in the queue. */
  releaseUnstarted(claimed: ClaimedJob): Promise<Ending>;
  /** Resolves when nothing that was begun for jobs that have ended is under way any more. */
  quiet(): Promise<void>;
}

/** Lapses in a row from which a job is suspected: one is what happens to jobs whose host was lost. */
const SUSPICIOUS_CRASHES = 2;
/** Suspected by what its row says, not by a death in this host. */
const BY_ITS_ROW: Suspicion = { group: 0, limit: 1 };

/** The death after which a run begins anew; undefined where it ends: with a result, an error, or as it was asked to. */
function deathOf({ outcome, reason, madeWay }: Supervised): Death | undefined {
  if (outcome.kind === 'died' && (reason === undefined || madeWay !== undefined)) return outcome;
  // It heard, and stopped in time.
  if (outcome.kind !== 'threw' || !outcome.error.retryable || madeWay === undefined) return undefined;
  return { cause: 'its cell had to be ended, and it stopped in time', isToBlame: false, ...madeWay };
}

/** How often in a row a lapse of this job was nobody's fault, before this claim. */
const lapsesExcused = ({ claim }: HeldClaim, progressed: boolean): number =>
  progressed ? 0 : (claim.found?.excuses ?? 0);

/** Runs claimed jobs, each under its lease, and stores how they ended. */
export function createClaimRunner(parts: WorkerParts): ClaimRunner {
  const { clock, telemetry, cells, brake, settings } = parts;
  // The rows are written already: nothing waits for who can be told of it.
  const outlet = createEventOutlet(parts);
  const ends = new Ends(parts, outlet);
  const restarts = createRestarts(parts, ends);
  const supervising = { ...parts, claimWatch: createClaimWatch(clock) };

  const runUnder = async (
    held: HeldClaim,
    place: RunPlace,
    bounds: RunBounds,
    returned: () => void,
  ): Promise<Ending> => {
    if (cells.find(held.job.type) === undefined)
      return ends.fail(held, thrownBy(new UnknownTypeError(held.job.type, cells.types())));
    for (let deaths = 0, mine = held, at = place; ; ) {
      tellOfStart(mine);
      const run = await supervise(supervising, mine, at, bounds);
      const death = deathOf(run);
      if (death === undefined) {
        returned();
        const ending = await end(mine, run, mine !== held);
        mine.lease.end();
        if (ending === 'lost' || (run.reason instanceof LeaseLost && ending !== 'done'))
          telemetry.count('LeasesLost');
        return ending;
      }
      // Progress in between makes it the first death again: nothing is gained by waiting.
      deaths = run.progressed ? 1 : deaths + 1;
      const next = await restarts.afterDeath(mine, death, { deaths, bounds, progressed: run.progressed });
      mine.lease.end();
      if (next.kind === 'ended') {
        if (next.ending === 'lost') telemetry.count('LeasesLost');
        return next.ending;
      }
      mine = next.held;
      at = { suspicion: death.suspicion };
    }
  };

  const tellOfStart = ({ job }: HeldClaim): void => {
    if (!namesType(settings.startedEvents, job.type)) return;
    outlet.publish([{ name: 'JobStarted', detail: { ...eventDetailOf(job), at: clock.now() } }]);
  };

  /** A result always counts as one; only what was thrown, or never came, is read by the reason of the abort. */
  const end = async (
    held: HeldClaim,
    { outcome, reason, progressed }: Supervised,
    isRestarted: boolean,
  ): Promise<Ending> => {
    const isHeld = held.lease.isHeld();
    const lost = reason instanceof LeaseLost || !isHeld;
    if (outcome.kind === 'returned') {
      brake.succeeded(held.job.type);
      return ends.complete(held, outcome.result, lost);
    }
    if (outcome.kind === 'died')
      telemetry.warn('handler ignored its signal', { ...nameOf(held.job), signal: reason?.code });
    if (!isHeld && !held.lease.wasUnanswered()) return 'lost';
    // A lapse is excused so often in a row, and no more: also one that a late reply has undone.
    const excuses = lost ? lapsesExcused(held, progressed) + 1 : undefined;
    const release = async (why: ShuttingDown['why']): Promise<Ending> =>
      excuses !== undefined && excuses > MOST_EXCUSES ? 'lost' : ends.release(held, why, progressed, excuses);
    // Nobody may have it yet: the store did not answer for a while, or accepted the last beat after all. The reaper would charge a crash.
    if (reason instanceof LeaseLost) return release('shutdown');
    if (reason instanceof Cancelled) return ends.cancel(held);
    if (outcome.kind === 'unplaced') return release('shutdown');
    if (outcome.kind === 'threw' && !outcome.error.retryable) return ends.fail(held, outcome.error);
    // Only who had the whole invocation is charged for its end.
    if (reason instanceof ShuttingDown) return release(isRestarted ? 'shutdown' : reason.why);
    return ends.fail(
      held,
      outcome.kind === 'threw' && !(reason instanceof TimedOut) ? outcome.error : thrownBy(reason),
    );
  };

  const heldBy = ({ job, sentAt }: ClaimedJob, stopping: AbortSignal): HeldClaim => ({
    job,
    claim: claimOf(job),
    lease: new LeaseClock(clock, sentAt, job.leaseMs),
    startedAt: sentAt.monotonic,
    stopping,
  });

  return {
    async run(claimed, bounds, returned = () => {}) {
      const held = heldBy(claimed, bounds.stopping);
      const byRow = claimed.job.crashes >= SUSPICIOUS_CRASHES ? BY_ITS_ROW : undefined;
      const place = { checked: claimed.checked, suspicion: claimed.suspicion ?? byRow };
      const ending = await runUnder(held, place, bounds, returned).catch((error: unknown): Ending => {
        telemetry.error('run broke off; its lease will lapse', error, nameOf(claimed.job));
        return 'unsaved';
      });
      held.lease.end();
      const durationMs = Math.round(clock.monotonic() - claimed.sentAt.monotonic);
      telemetry.timeOfType?.('RunTime', claimed.job.type, durationMs);
      telemetry.info('run ended', { ...nameOf(claimed.job), outcome: ending, durationMs });
      return ending;
    },
    // Its message is in hand: nothing is gained by offering it for longer than the lease.
    releaseUnstarted: (claimed) => ends.releaseUnstarted(heldBy(claimed, AbortSignal.abort('unstarted'))),
    lostItsData: (job, error) => ends.lostItsData(job, error),
    publish: outlet.publish,
    quiet: () => outlet.settle(),
  };
}
