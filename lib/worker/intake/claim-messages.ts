import type { ClaimOutcome } from '../../protocol/decisions/decide-claim.ts';
import { BadRowError } from '../../protocol/errors.ts';
import type { ClaimRequest } from '../../protocol/ports.ts';
import { eventDetailOf } from '../../wire/events.ts';
import { termsOf } from '../registry.ts';
import { readClock } from '../run/lease-clock.ts';
import type { ClaimedJob, ClaimRunner } from '../run/run-claim.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { type Claimable, heldBack, type Returned, returned, SETTLED, type Settled } from './open-message.ts';
import type { UnknownClaims } from './unknown-claims.ts';

export type Claimed = ({ readonly kind: 'claimed' } & ClaimedJob) | Settled | Returned;

/** Claims the jobs of messages. */
export function createClaimer(
  parts: WorkerParts,
  runner: Pick<ClaimRunner, 'publish' | 'lostItsData'>,
  unknownClaims: Pick<UnknownClaims, 'release'>,
): (opened: readonly Claimable[]) => Promise<readonly Claimed[]> {
  const { settings, clock, chance, store, telemetry, cells } = parts;

  /** The claim may have been granted all the same: it is released, as far as that can be done. */
  const unknown = async (owner: string, claimable: Claimable, error: unknown): Promise<Claimed> => {
    const { job, message } = claimable;
    telemetry.error('claim failed', error, { jobId: job.jobId });
    await unknownClaims.release(claimable, owner);
    // A row that cannot be read does not get better by the message coming again: the reaper finds it.
    return error instanceof BadRowError ? SETTLED : returned(message);
  };

  const requestFor = ({ job, message }: Claimable): ClaimRequest => ({
    job,
    owner: `${parts.worker}/${chance.unique()}`,
    again: message.receiveCount > 1,
    termsOf: (type) => {
      const options = cells.find(type);
      return options && termsOf(options, settings);
    },
  });

  const claimOne = async (claimable: Claimable): Promise<Claimed> => {
    const request = requestFor(claimable);
    const sentAt = readClock(clock);
    try {
      return await judge(parts, runner, await store.claim(request), claimable, sentAt);
    } catch (error) {
      return unknown(request.owner, claimable, error);
    }
  };

  const claimTogether = async (claimables: readonly Claimable[]): Promise<Claimed[]> => {
    if (claimables.length === 0) return [];
    const requests = claimables.map(requestFor);
    const sentAt = readClock(clock);
    const outcomes = await store.claimMany(requests);
    return Promise.all(
      claimables.map(async (claimable, i) => {
        const outcome = outcomes[i];
        const owner = requests[i]?.owner ?? '';
        if (outcome === undefined || outcome.outcome === 'failed')
          return unknown(owner, claimable, outcome?.error);
        return judge(parts, runner, outcome, claimable, sentAt).catch((error: unknown) =>
          unknown(owner, claimable, error),
        );
      }),
    );
  };

  return async (opened) => {
    if (!(await parts.clockCheck.isSound())) return opened.map(({ message }) => returned(message));
    const verdicts = new Map<Claimable, Claimed>();
    for (const each of opened) {
      // Asked again: some have waited for others, or for a slot.
      const held = heldBack(parts, each.type);
      if (held !== undefined) verdicts.set(each, held);
    }
    const open = opened.filter((each) => !verdicts.has(each));
    // A batch takes each row once: a second message for the same job is claimed after it, and then refused.
    const firsts = [...new Map(open.map((each) => [each.job.jobId, each] as const).reverse()).values()];
    const [only] = firsts;
    const claimed =
      firsts.length === 1 && only !== undefined ? [await claimOne(only)] : await claimTogether(firsts);
    for (const [i, outcome] of claimed.entries()) verdicts.set(firsts[i] as Claimable, outcome);
    for (const each of open) if (!verdicts.has(each)) verdicts.set(each, await claimOne(each));
    return opened.map((each) => verdicts.get(each) as Claimed);
  };
}

/** What follows from the store's answer; all refusals but one are as good as done, because the row is safe. */
async function judge(
  parts: WorkerParts,
  runner: Pick<ClaimRunner, 'publish' | 'lostItsData'>,
  outcome: ClaimOutcome,
  claimable: Claimable,
  sentAt: ClaimedJob['sentAt'],
): Promise<Claimed> {
  const { telemetry, store, clock } = parts;
  switch (outcome.outcome) {
    case 'claimed': {
      telemetry.count('JobsClaimed');
      if (claimable.dueAt !== undefined && outcome.job.attempt === 1)
        telemetry.timeOfType?.('WaitTime', outcome.job.type, Math.max(0, sentAt.wall - claimable.dueAt));
      return { kind: 'claimed', job: outcome.job, sentAt, ...placeFor(claimable, outcome.job.payload) };
    }
    case 'cancelRequested': {
      const { jobId, attempt } = outcome.job;
      const ended = await store.cancelPending({ jobId, attempt });
      if (ended.outcome !== 'written') return SETTLED;
      telemetry.count('JobsCancelled');
      runner.publish([{ name: 'JobCancelled', detail: { ...eventDetailOf(outcome.job), at: clock.now() } }]);
      return SETTLED;
    }
    case 'withoutData':
      runner.lostItsData(outcome.job, outcome.error);
      return SETTLED;
    case 'newer':
      telemetry.error('job left alone', outcome.error, { jobId: claimable.job.jobId });
      telemetry.count('RowsTooNew');
      // Somebody must be woken for it: such jobs wait for the newer version.
      telemetry.count('StoreFailures');
      return SETTLED;
    case 'absent':
    case 'finished':
    case 'cancelled':
    case 'held':
    case 'notYet':
    case 'contended':
      return SETTLED;
  }
}

/** The payload that was checked is the row's, unless an earlier message came first. */
function placeFor({ check, job }: Claimable, payload: string): Pick<ClaimedJob, 'checked' | 'suspicion'> {
  if (check?.kind === 'unanswered') return { suspicion: check.suspicion };
  if (check?.kind !== 'accepted' || !('payload' in job) || job.payload !== payload) return {};
  return { checked: check.token };
}
