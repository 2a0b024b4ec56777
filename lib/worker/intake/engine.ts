import type { ClaimOutcome } from '../../protocol/decisions/decide-claim.ts';
import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import { BadRowError, isOutage } from '../../protocol/errors.ts';
import { leaseEntryOf } from '../../protocol/job.ts';
import type { Group } from '../../protocol/limits/group.ts';
import type { ClaimRequest, ReceivedMessage } from '../../protocol/ports.ts';
import { STORE_ATTEMPTS, STORE_TIMEOUT_MS } from '../../settings/heartbeat-timing.ts';
import { eventDetailOf } from '../../wire/events.ts';
import { termsOf } from '../registry.ts';
import { readClock } from '../run/lease-clock.ts';
import { type ClaimedJob, type ClaimRunner, createClaimRunner } from '../run/run-claim.ts';
import { sendHint } from '../run/send-hint.ts';
import { recordSpan } from '../spans.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createLimitGate } from './limits.ts';
import {
  type Claimable,
  type Opened,
  openMessage,
  type Returned,
  returned,
  SETTLED,
  type Settled,
  throttledType,
} from './open-message.ts';
import { dropLateTick, isLateTick } from './reject-message.ts';

type Claimed = ({ readonly kind: 'claimed' } & ClaimedJob) | Settled | Returned;

export type Engine = ReturnType<typeof createEngine>;

export function createEngine(parts: WorkerParts) {
  const runner = createClaimRunner(parts);
  const limits = createLimitGate(parts);
  const { settings, clock, random, store, telemetry, cells } = parts;

  let unanswered: string | undefined;

  const failed = (message: ReceivedMessage, error: unknown): Returned => {
    if (isOutage(error)) unanswered = message.messageId;
    return returned(message, error);
  };

  /** Each delivery counts, so ask the store, not the queue, whether an outage is over. */
  const isReachable = async (): Promise<boolean> => {
    if (unanswered === undefined) return true;
    const isOver = await store.read(unanswered).then(
      () => true,
      (error: unknown) => !isOutage(error),
    );
    if (isOver) unanswered = undefined;
    return isOver;
  };

  const open = (message: ReceivedMessage): Promise<Opened> =>
    openMessage(parts, message).catch((error: unknown) => {
      telemetry.error('message could not be processed', error, { messageId: message.messageId });
      return failed(message, error);
    });

  const releases = new Set<Promise<void>>();

  const releaseUnknown = async (owner: string, { job }: Claimable) => {
    const dispatch = planDispatch(clock.now(), clock.now(), settings);
    return { ...(await store.releaseUnknown(job.jobId, owner, dispatch)), dispatch };
  };

  /** The claim may have been on its way, and another worker may have deleted the message of a held job. */
  const releaseLate = async (owner: string, claimable: Claimable): Promise<void> => {
    const { job, type, key } = claimable;
    try {
      await clock.sleep(STORE_ATTEMPTS * STORE_TIMEOUT_MS);
      const { outcome, dispatch } = await releaseUnknown(owner, claimable);
      if (outcome === 'written') await sendHint(parts, { jobId: job.jobId, type, key }, dispatch);
    } catch (error) {
      telemetry.error('a claim may be held; its lease will lapse', error, { jobId: job.jobId });
    }
  };

  /** The claim may have succeeded. If the release fails too, its lease lapses. */
  const unknown = async (owner: string, claimable: Claimable, error: unknown): Promise<Claimed> => {
    const { job, message } = claimable;
    telemetry.error('claim failed', error, { jobId: job.jobId });
    const isRefused = await releaseUnknown(owner, claimable).then(
      ({ outcome }) => outcome === 'lost',
      () => false,
    );
    if (isRefused) {
      const releasing = releaseLate(owner, claimable).finally(() => releases.delete(releasing));
      releases.add(releasing);
    }
    // Redelivery cannot repair an unreadable row; the reaper reports it.
    return error instanceof BadRowError ? SETTLED : failed(message, error);
  };

  const requestFor = ({ job, type, message }: Claimable, group: Group | undefined): ClaimRequest => ({
    job,
    group: group?.name,
    owner: `${parts.worker}/${random.unique()}`,
    redelivered: message.receiveCount > 1,
    typeLimits: termsOf(type === undefined ? undefined : cells.find(type), settings),
  });

  const claimTogether = async (
    claimables: readonly Claimable[],
    groups: ReadonlyMap<Claimable, Group>,
  ): Promise<Claimed[]> => {
    const requests = claimables.map((each) => requestFor(each, groups.get(each)));
    const [only, ...others] = requests;
    if (only === undefined) return [];
    const sentAt = readClock(clock);
    const outcomes =
      others.length > 0
        ? await store.claimMany(requests)
        : [await store.claim(only).catch((error: Error) => ({ outcome: 'failed' as const, error }))];
    return Promise.all(
      claimables.map(async (claimable, i) => {
        const outcome = outcomes[i];
        const owner = requests[i]?.owner ?? '';
        if (outcome === undefined || outcome.outcome === 'failed')
          return unknown(owner, claimable, outcome?.error);
        const claimed = await interpretReply(parts, runner, outcome, claimable, sentAt).catch(
          (error: unknown) => unknown(owner, claimable, error),
        );
        return claimed.kind === 'claimed' ? admitted(claimed) : claimed;
      }),
    );
  };

  const admitted = async (claimed: Extract<Claimed, { kind: 'claimed' }>): Promise<Claimed> => {
    const place = await limits.admit(claimed);
    if (place === undefined) return SETTLED;
    if (!isLateTick(place.job, clock.now())) return { ...place, kind: 'claimed' };
    await cancelLateTick(place);
    return SETTLED;
  };

  const cancelLateTick = async (claimed: ClaimedJob): Promise<void> => {
    const { jobId, lateAt = 0 } = claimed.job;
    try {
      await store.cancel(jobId);
      await runner.cancel(claimed);
      dropLateTick(parts, { jobId, byMs: clock.now() - lateAt });
    } catch (error) {
      telemetry.error('a late tick was not cancelled; its lease will lapse', error, { jobId });
    }
  };

  const claim = async (opened: readonly Claimable[]): Promise<readonly Claimed[]> => {
    if (!(await parts.clockCheck.isSound())) return opened.map(({ message }) => returned(message));
    const verdicts = new Map<Claimable, Claimed>();
    for (const each of opened) {
      // Asked again because some waited for others or for a slot.
      const held = throttledType(parts, each);
      if (held !== undefined) verdicts.set(each, held);
    }
    const candidates = opened.filter((each) => !verdicts.has(each));
    const looked = await limits.look(candidates).catch((error: unknown) => {
      telemetry.error('limits could not be read', error, { count: candidates.length });
      for (const each of candidates) verdicts.set(each, failed(each.message, error));
      return { kept: new Map<Claimable, Settled>(), groups: new Map<Claimable, Group>() };
    });
    for (const [each, verdict] of looked.kept) verdicts.set(each, verdict);
    const open = candidates.filter((each) => !verdicts.has(each));
    // A batch may contain each row once, so a second message for a job is claimed afterwards and refused.
    const firsts = [...new Map(open.map((each) => [each.job.jobId, each] as const).reverse()).values()];
    const seconds = open.filter((each) => !firsts.includes(each));
    for (const some of [firsts, ...seconds.map((each) => [each])])
      for (const [i, outcome] of (await claimTogether(some, looked.groups)).entries())
        verdicts.set(some[i] as Claimable, outcome);
    return opened.map((each) => verdicts.get(each) as Claimed);
  };

  const quiet = async (): Promise<void> => {
    await Promise.all([...releases, runner.quiet()]);
  };

  return { ...runner, claim, quiet, open, isReachable };
}

/** After most refusals the row is safe and the message can go. */
async function interpretReply(
  parts: WorkerParts,
  runner: Pick<ClaimRunner, 'publish' | 'dataMissing'>,
  outcome: ClaimOutcome,
  claimable: Claimable,
  sentAt: ClaimedJob['sentAt'],
): Promise<Claimed> {
  const { telemetry, store, clock } = parts;
  switch (outcome.outcome) {
    case 'claimed': {
      telemetry.count('JobsClaimed');
      recordSpan({ operation: 'receive', name: 'claim', job: outcome.job, startedAt: sentAt.wall });
      if (claimable.dueAt !== undefined && outcome.job.attempt === 1)
        telemetry.timeOfType?.('WaitTime', outcome.job.type, Math.max(0, sentAt.wall - claimable.dueAt));
      return { kind: 'claimed', job: outcome.job, sentAt };
    }
    case 'cancelRequested': {
      const ended = await store.reap(leaseEntryOf(outcome.job), { kind: 'cancel' });
      if (ended.outcome !== 'written') return SETTLED;
      telemetry.count('JobsCancelled');
      runner.publish([{ name: 'JobCancelled', detail: { ...eventDetailOf(outcome.job), at: clock.now() } }]);
      return SETTLED;
    }
    case 'withoutData':
      runner.dataMissing(outcome.job, outcome.error);
      return SETTLED;
    case 'newer':
      telemetry.error('job left alone', outcome.error, { jobId: claimable.job.jobId });
      telemetry.count('RowsTooNew');
      // Raises an alarm, because such jobs wait for the newer version.
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
