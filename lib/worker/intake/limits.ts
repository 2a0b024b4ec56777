import { planPark } from '../../protocol/decisions/dispatch.ts';
import { type Control, noControl } from '../../protocol/limits/control.ts';
import { decideLook } from '../../protocol/limits/decide-look.ts';
import { entryIn, type Group, type GroupState, roomIn } from '../../protocol/limits/group.ts';
import { passOn } from '../../protocol/limits/pass-on.ts';
import type { SchedulePlan } from '../../protocol/ports.ts';
import type { Row } from '../../protocol/writes/row-write.ts';
import { isPauseGroup, limitGroup, pauseGroups } from '../../wire/limits.ts';
import { holdClaim } from '../run/held-claim.ts';
import { retryUntilLeaseEnds } from '../run/retry-until-lease-ends.ts';
import type { ClaimedJob } from '../run/run-claim.ts';
import { sendHint, sendHints } from '../run/send-hint.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { type Claimable, SETTLED, type Settled } from './open-message.ts';

const CONTROL_AGE_MS = 10_000;
/** Shorter than the delay of the hints that `resume` sends. */
const PAUSED_AGE_MS = 1000;
const CHECK_EVERY_MS = 5000;
const MOST_REMEMBERED = 1000;

interface Looked {
  readonly claimable: Claimable;
  readonly group: Group;
}

/** Parks jobs of full limits and paused types as pending rows. */
export function createLimitGate(parts: WorkerParts) {
  const { settings, clock, store, cells, telemetry } = parts;
  const checkedAt = new Map<string, number>();
  let known = noControl;

  const groupOf = (type: string | undefined, key: string | undefined, control: Control) => {
    const limit = type === undefined ? undefined : cells.find(type)?.limit;
    if (type === undefined || limit === undefined) return undefined;
    const isPerKey = typeof limit === 'object';
    if (isPerKey && key === undefined) return undefined;
    const changed = (isPerKey ? control.limits.get(`${type}:${key}`) : undefined) ?? control.limits.get(type);
    return {
      name: limitGroup(type, isPerKey ? key : undefined),
      limit: changed ?? (isPerKey ? limit.perKey : limit),
    };
  };

  const tellOfMissingKey = ({ type = '', key, job, message }: Claimable): void => {
    if (key !== undefined || !('payload' in job) || typeof cells.find(type)?.limit !== 'object') return;
    telemetry.count('KeysMissing');
    telemetry.warn('the message has no key, so the limit of its type does not hold for it', {
      jobId: job.jobId,
      type,
      messageId: message.messageId,
    });
  };

  const controlNow = async (types: readonly (string | undefined)[]): Promise<Control> => {
    if (parts.control === undefined) return known;
    known = await parts.control.current(CONTROL_AGE_MS);
    const isPaused = types.some((type) => type !== undefined && known.paused.has(type));
    if (isPaused) known = await parts.control.current(PAUSED_AGE_MS);
    return known;
  };

  const parkRow = async ({ job, key, type }: Claimable, row: Row | undefined, waitsFor: string) => {
    const notBefore = typeof row?.notBefore === 'number' ? row.notBefore : undefined;
    const dispatch = planPark(clock.now(), { waitsFor, notBefore }, settings);
    const { outcome } = await store.park(seenIn(job.jobId, row), { waitsFor, dispatch });
    if (outcome !== 'written') return;
    telemetry.count('JobsParked');
    await sendHint(parts, { jobId: job.jobId, type, key }, dispatch);
  };

  /** In one batch, because a backlog has many jobs for each place. */
  const parkNew = async (plans: readonly SchedulePlan[]): Promise<void> => {
    const outcomes = await store.scheduleMany(plans);
    const written = plans.filter((_, i) => outcomes[i]?.outcome === 'written');
    if (written.length > 0) telemetry.count('JobsParked', written.length);
    await sendHints(parts, written);
    for (const each of outcomes) if (each.outcome === 'failed') throw each.error;
  };

  /** A hint's job has a row, which is parked. A message's job gets one, parked from the start. */
  const park = async (waits: ReadonlyMap<Claimable, string>, rows: ReadonlyMap<string, Row>) => {
    const acts: Promise<void>[] = [];
    const plans = new Map<string, SchedulePlan>();
    for (const [claimable, waitsFor] of waits) {
      const { job, message } = claimable;
      const dispatch = planPark(clock.now(), { waitsFor }, settings);
      const redelivered = message.receiveCount > 1;
      if (!('payload' in job)) acts.push(parkRow(claimable, rows.get(job.jobId), waitsFor));
      else if (!plans.has(job.jobId)) plans.set(job.jobId, { job, dispatch, redelivered, waitsFor });
    }
    if (plans.size > 0) acts.push(parkNew([...plans.values()]));
    await Promise.all(acts);
  };

  /** Undefined if its row needs no change. */
  const pausedBy = (claimable: Claimable, row: Row | undefined): string | undefined => {
    const isWaiting = typeof row?.waitsFor === 'string' && isPauseGroup(row.waitsFor);
    const isDue = Number(row?.notBefore) <= clock.now() + settings.skewMs;
    if (isHint(claimable) && (row?.status !== 'pending' || isWaiting || !isDue)) return undefined;
    const groups = pauseGroups(claimable.type ?? '');
    return groups[Math.floor(parts.random.next() * groups.length)];
  };

  /** A full group may count jobs that ended without leaving. */
  const checked = async (group: Group, state: GroupState): Promise<GroupState> => {
    const now = clock.monotonic();
    if (now - (checkedAt.get(group.name) ?? Number.NEGATIVE_INFINITY) < CHECK_EVERY_MS) return state;
    if (checkedAt.size >= MOST_REMEMBERED) checkedAt.clear();
    checkedAt.set(group.name, now);
    let after = state;
    await passOn(parts, group.name, async () => {
      const { state: left, reserved } = await store.check(group, state);
      after = left;
      return { reserved };
    });
    return after;
  };

  /** In one request. */
  const readAll = async (paused: readonly Claimable[], limited: readonly Looked[]) => {
    const byName = new Map(limited.map(({ group }) => [group.name, group]));
    const hinted = [...paused, ...limited.map(({ claimable }) => claimable)].filter(isHint);
    const jobIds = [...new Set(hinted.map(({ job }) => job.jobId))];
    const { groups, rows } = await store.look([...byName.keys()], jobIds);
    const states = new Map(groups);
    for (const [name, group] of byName) {
      const state = states.get(name) as GroupState;
      if (roomIn(state, group.limit) <= 0) states.set(name, await checked(group, state));
    }
    return { states, rows };
  };

  return {
    /** Types without a limit cost nothing. */
    async look(claimables: readonly Claimable[]): Promise<{
      readonly kept: ReadonlyMap<Claimable, Settled>;
      readonly groups: ReadonlyMap<Claimable, Group>;
    }> {
      for (const each of claimables) tellOfMissingKey(each);
      const control = await controlNow(claimables.map(({ type }) => type));
      const paused = claimables.filter(({ type }) => type !== undefined && control.paused.has(type));
      const limited = claimables.flatMap((claimable): Looked[] => {
        const { type, key } = claimable;
        const group = paused.includes(claimable) ? undefined : groupOf(type, key, control);
        return group === undefined ? [] : [{ claimable, group }];
      });
      const kept = new Map<Claimable, Settled>();
      const groups = new Map(limited.map(({ claimable, group }) => [claimable, group]));
      if (limited.length + paused.length === 0) return { kept, groups };
      const { states, rows } = await readAll(paused, limited);
      const parked = new Map<Claimable, string>();
      const acts: Promise<void>[] = [];
      for (const each of paused) {
        const waitsFor = pausedBy(each, rows.get(each.job.jobId));
        if (waitsFor !== undefined) parked.set(each, waitsFor);
        kept.set(each, SETTLED);
      }
      const taken = new Map<string, number>();
      for (const looked of limited) {
        const { claimable, group } = looked;
        const { jobId } = claimable.job;
        const row = rows.get(jobId);
        const state = states.get(group.name) as GroupState;
        const before = taken.get(group.name) ?? 0;
        const context = { now: clock.now(), skewMs: settings.skewMs, taken: before };
        const verdict = decideLook({ jobId, isHint: isHint(claimable), row }, group, state, context);
        if (verdict.kind === 'claim') {
          if (entryIn(state.members, jobId) === undefined) taken.set(group.name, before + 1);
          continue;
        }
        kept.set(claimable, SETTLED);
        if (verdict.kind === 'park') parked.set(claimable, group.name);
        if (verdict.kind === 'leave') {
          const place = { group: group.name, limit: group.limit, jobId, attempt: verdict.attempt };
          acts.push(passOn(parts, group.name, () => store.leave(place)));
        }
      }
      await Promise.all([...acts, park(parked, rows)]);
      return { kept, groups };
    },

    /** A claimed job without a place is parked. */
    async admit(claimed: ClaimedJob): Promise<ClaimedJob | undefined> {
      const { job } = claimed;
      const group = groupOf(job.type, job.key, known);
      if (group === undefined) return claimed;
      const { jobId, attempt } = job;
      const { outcome } = await store.admit(group, { jobId, attempt }).catch((error: unknown) => {
        telemetry.error('admission unanswered; the job is parked', error, { jobId, attempt });
        return { outcome: 'refused' as const };
      });
      if (outcome === 'admitted') return { ...claimed, group };
      await parkClaimed(parts, claimed, group);
      return undefined;
    },
  };
}

async function parkClaimed(parts: WorkerParts, { job, sentAt }: ClaimedJob, group: Group): Promise<void> {
  const held = holdClaim(parts.clock, job, sentAt, new AbortController().signal);
  const dispatch = planPark(parts.clock.now(), { waitsFor: group.name }, parts.settings);
  const answer = await retryUntilLeaseEnds(parts, held, () =>
    parts.store.parkClaim(held.claim, { waitsFor: group.name, dispatch }),
  );
  held.lease.end();
  if (answer?.outcome !== 'written') return;
  parts.telemetry.count('JobsParked');
  await sendHint(parts, job, dispatch);
}

const isHint = ({ job }: Claimable): boolean => !('payload' in job);

const seenIn = (jobId: string, row: Row | undefined) => ({
  jobId,
  attempt: Number(row?.attempt),
  leaseUntil: Number(row?.leaseUntil),
  ...(typeof row?.waitsSince === 'number' ? { waitsSince: row.waitsSince } : undefined),
});
