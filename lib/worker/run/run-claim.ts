import { createEventOutlet } from '../../protocol/event-outlet.ts';
import type { RunningJob } from '../../protocol/job.ts';
import type { Group } from '../../protocol/limits/group.ts';
import { eventDetailOf, namesType } from '../../wire/events.ts';
import { Cancelled, LeaseLost, ShuttingDown, TimedOut } from '../abort-reasons.ts';
import type { Death } from '../cells/cells.ts';
import { UnknownTypeError } from '../registry.ts';
import { recordSpan } from '../spans.ts';
import { thrownBy } from '../thrown.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createClaimEndings, type Ending } from './claim-endings.ts';
import { type HeldClaim, holdClaim, nameOf } from './held-claim.ts';
import type { ClockReading } from './lease-clock.ts';
import { createRestarts } from './restart-claim.ts';
import { type RunBounds, type Supervised, supervise } from './supervise.ts';
import { createClaimWatch } from './watch-claim.ts';

export interface ClaimedJob {
  readonly job: RunningJob;
  readonly sentAt: ClockReading;
  readonly group?: Group;
}

/** Undefined if the handler returned, threw, or was asked to stop. */
const deathOf = ({ outcome, reason }: Supervised): Death | undefined =>
  outcome.kind === 'died' && reason === undefined ? outcome : undefined;

export type ClaimRunner = ReturnType<typeof createClaimRunner>;

export function createClaimRunner(parts: WorkerParts) {
  const { clock, telemetry, cells, crashThrottle, settings } = parts;
  // Events are sent after the row is written, so they never delay a job.
  const outlet = createEventOutlet(parts);
  const endings = createClaimEndings(parts, outlet);
  const afterDeath = createRestarts(parts, endings);
  const supervising = { ...parts, watchClaim: createClaimWatch(clock) };

  const runUnder = async (held: HeldClaim, bounds: RunBounds, returned: () => void): Promise<Ending> => {
    if (cells.find(held.job.type) === undefined)
      return endings.fail(held, thrownBy(new UnknownTypeError(held.job.type, cells.types())));
    let deaths = 0;
    let mine = held;
    let maxInCell: number | undefined;
    for (;;) {
      publishStart(mine);
      const placement = { maxInCell: mine.job.crashes > 0 ? 1 : maxInCell, isExcusable: deaths === 0 };
      const run = await supervise(supervising, mine, placement, bounds);
      const death = deathOf(run);
      if (death === undefined) {
        returned();
        const endedAt = clock.now();
        const ending = await end(mine, run, mine !== held);
        traceEnd(mine, endedAt, ending);
        mine.lease.end();
        if (ending === 'lost' || (run.reason instanceof LeaseLost && ending !== 'done'))
          telemetry.count('LeasesLost');
        return ending;
      }
      // Progress resets the count, so this death is the first again.
      deaths = run.progressed ? 1 : deaths + 1;
      const diedAt = clock.now();
      const next = await afterDeath(mine, death, deaths);
      traceEnd(mine, diedAt, next.kind === 'ended' ? next.ending : 'restarted', death);
      mine.lease.end();
      if (next.kind === 'ended') {
        if (next.ending === 'lost') telemetry.count('LeasesLost');
        return next.ending;
      }
      mine = next.held;
      maxInCell = death.maxInCell ?? maxInCell;
    }
  };

  /** A cell that died never records the span of its run, so this span has the cause. */
  const traceEnd = ({ job }: HeldClaim, startedAt: number, outcome: Ending | 'restarted', death?: Death) => {
    const unstored = outcome === 'lost' || outcome === 'unknown' ? { type: outcome } : undefined;
    const failure = death === undefined ? unstored : { type: 'crash', message: death.cause };
    recordSpan({ operation: 'settle', name: 'end', job, startedAt }, failure, {
      'leasehold.outcome': outcome,
    });
  };

  const publishStart = ({ job }: HeldClaim): void => {
    if (!namesType(settings.startedEvents, job.type)) return;
    outlet.publish([{ name: 'JobStarted', detail: { ...eventDetailOf(job), at: clock.now() } }]);
  };

  /** A returned result always wins; otherwise the abort reason decides. */
  const end = async (
    held: HeldClaim,
    { outcome, reason, progressed }: Supervised,
    isRestarted: boolean,
  ): Promise<Ending> => {
    const lost = reason instanceof LeaseLost || !held.lease.isHeld();
    if (outcome.kind === 'returned') {
      crashThrottle.recordSuccess(held.job.type);
      return endings.complete(held, outcome, lost);
    }
    if (outcome.kind === 'died')
      telemetry.warn('handler ignored its signal', { ...nameOf(held.job), signal: reason?.code });
    // If a late reply renewed the lease, release the job now, so that it need not wait for the lease to end.
    if (lost) return held.lease.isHeld() ? endings.release(held, 'shutdown', progressed) : 'lost';
    if (reason instanceof Cancelled) return endings.cancel(held);
    if (outcome.kind === 'unplaced') return endings.release(held, 'shutdown', progressed);
    if (outcome.kind === 'threw' && !outcome.error.retryable) return endings.fail(held, outcome.error);
    // A restarted job did not have the whole invocation, so its deadline is not charged.
    if (reason instanceof ShuttingDown)
      return endings.release(held, isRestarted ? 'shutdown' : reason.why, progressed);
    return endings.fail(
      held,
      outcome.kind === 'threw' && !(reason instanceof TimedOut) ? outcome.error : thrownBy(reason),
    );
  };

  return {
    /** Calls `returned` when the handler has ended and only its outcome must be stored. */
    async run(claimed: ClaimedJob, bounds: RunBounds, returned = () => {}): Promise<Ending> {
      const held = holdClaim(clock, claimed.job, claimed.sentAt, bounds.stopping, claimed.group);
      const ending = await runUnder(held, bounds, returned).catch((error: unknown): Ending => {
        telemetry.error('run failed unexpectedly; its lease will lapse', error, nameOf(claimed.job));
        return 'unknown';
      });
      held.lease.end();
      const durationMs = Math.round(clock.monotonic() - claimed.sentAt.monotonic);
      telemetry.timeOfType?.('RunTime', claimed.job.type, durationMs);
      telemetry.info('run ended', { ...nameOf(claimed.job), outcome: ending, durationMs });
      return ending;
    },
    /** For a job whose cancellation was requested before it ran. */
    async cancel({ job, sentAt, group }: ClaimedJob): Promise<void> {
      const held = holdClaim(clock, job, sentAt, new AbortController().signal, group);
      await endings.cancel(held);
      held.lease.end();
    },
    dataMissing: endings.dataMissing,
    publish: outlet.publish,
    quiet: outlet.settle,
  };
}
