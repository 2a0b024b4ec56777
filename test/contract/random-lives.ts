import fc from 'fast-check';
import { expect } from 'vitest';
import { systemRandom } from '../../lib/aws/clock.ts';
import { decideFailure, decideRelease } from '../../lib/protocol/decisions/decide-failure.ts';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import {
  type Claim,
  claimOf,
  type Job,
  type LeaseEntry,
  leaseEntryOf,
  type RunningJob,
} from '../../lib/protocol/job.ts';
import type { JobStore, Table } from '../../lib/protocol/ports.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createFakeClock, type FakeClock } from '../../lib/testing/fake-clock.ts';
import { newJob } from '../support/jobs.ts';
import { allEntries } from './harness.ts';

/** One thing that somebody does; `which` picks among claims and index entries that may be long out of date. */
export type Move =
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'claim'; readonly byHint: boolean }
  | {
      readonly do: 'heartbeat' | 'checkpoint' | 'complete' | 'fail' | 'release' | 'releaseUnknown';
      readonly which: number;
    }
  | { readonly do: 'cancelRunning'; readonly which: number }
  | { readonly do: 'look' }
  | { readonly do: 'reap'; readonly which: number }
  | { readonly do: 'cancel' | 'revive' | 'takeBack' | 'schedule' };

const which = fc.nat(7);
const verbs = [
  'heartbeat',
  'checkpoint',
  'complete',
  'fail',
  'release',
  'releaseUnknown',
  'cancelRunning',
] as const;

/** Moves in the proportions of a system in trouble. */
export const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('advance' as const),
        ms: fc.constantFrom(1, 999, 2_000, 20_000, 21_999, 22_000, 90_000),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('claim' as const), byHint: fc.boolean() }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constantFrom(...verbs), which }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('look' as const) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('reap' as const), which }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('cancel' as const, 'revive' as const, 'takeBack' as const, 'schedule' as const),
      }),
    },
  ),
  { minLength: 10, maxLength: 60 },
);

const settings = resolveSettings({ shards: 1, maxReleases: 6, maxAttempts: 4, maxCrashes: 3, maxLapses: 3 });

/** Everything that anybody ever knew of the job: zombies go on from claims, reapers from entries. */
interface World {
  readonly jobId: string;
  readonly clock: FakeClock;
  readonly store: JobStore;
  readonly table: Table;
  readonly claims: RunningJob[];
  readonly entries: LeaseEntry[];
  /** Ends that took effect: the store recognizes them again when they are repeated. */
  readonly ends: Set<string>;
  seq: number;
}

async function make(world: World, move: Move): Promise<unknown> {
  const { store, clock, jobId } = world;
  const now = clock.now();
  const dispatch = planDispatch(now, now, settings);
  switch (move.do) {
    case 'advance':
      return clock.advance(move.ms);
    case 'claim': {
      const job = move.byHint ? { jobId } : newJob(jobId, { maxAttempts: 4, maxCrashes: 3 });
      const outcome = await store.claim({ job, owner: `w/${++world.seq}` });
      if (outcome.outcome === 'claimed') world.claims.push(outcome.job);
      return outcome;
    }
    case 'look':
      world.entries.push(...(await allEntries(world.table, 'r0')), ...(await allEntries(world.table, 'q0')));
      world.entries.splice(0, world.entries.length - 8);
      return undefined;
    case 'reap': {
      const entry = world.entries.filter((each) => each.jobId === jobId)[move.which];
      if (entry === undefined) return undefined;
      const verdict = decideReap(entry, { now, random: 0, settings });
      return verdict.kind === 'leave' ? undefined : store.reap(entry, verdict);
    }
    case 'schedule':
      return store.schedule(newJob(jobId, { maxAttempts: 4, maxCrashes: 3 }), dispatch);
    case 'cancel':
      return store.cancel(jobId);
    case 'revive':
      return store.revive(jobId);
    case 'takeBack':
      return store.takeBack(jobId);
    default: {
      const job = world.claims.at(-1 - move.which);
      return job === undefined ? undefined : asWorker(world, move.do, job);
    }
  }
}

/** What a worker does with the job as it got it: it knows no later row. */
function asWorker(world: World, verb: (typeof verbs)[number], job: RunningJob): Promise<unknown> {
  const { store, clock } = world;
  const now = clock.now();
  const claim: Claim = claimOf(job);
  const dispatch = planDispatch(now, now, settings);
  switch (verb) {
    case 'heartbeat':
      return store.heartbeat(claim, now + job.leaseMs);
    case 'checkpoint':
      return store.checkpoint(claim, { seq: ++world.seq, checkpoint: world.seq });
    case 'complete':
      return store.complete(claim, world.seq);
    case 'fail': {
      const backoff = { baseMs: 0, capMs: 0 };
      const verdict = decideFailure(job, { now, random: 0, retryable: true, backoff, settings });
      const ended = { errors: verdict.errors, lastError: 'boom' };
      return verdict.kind === 'fail' ? store.fail(claim, ended) : store.retry(claim, { ...ended, dispatch });
    }
    case 'release': {
      const verdict = decideRelease(job, { now, reason: 'shutdown', progressed: false, settings });
      return verdict.kind === 'fail' ? store.fail(claim, verdict) : store.release(claim, verdict);
    }
    case 'releaseUnknown':
      return store.releaseUnknown(job.jobId, job.leaseOwner, dispatch);
    case 'cancelRunning':
      return store.cancelRunning(claim);
  }
}

/** Lives one random life of one job and checks, after every move, what must always be true. */
export async function liveThrough(table: Table, jobId: string, script: readonly Move[]): Promise<void> {
  const clock = createFakeClock();
  const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'life' });
  const world: World = { jobId, clock, store, table, claims: [], entries: [], ends: new Set(), seq: 0 };
  let before: Job | undefined;
  for (const move of script) {
    const grantedBefore = world.claims.length;
    const outcome = await make(world, move);
    const row = await table.read(jobId);
    const after = row && parseJob(row);
    expectSound(before, after, move);
    if (world.claims.length > grantedBefore)
      expect(after).toMatchObject({ leaseOwner: world.claims.at(-1)?.leaseOwner });
    expectOneOwner(world, move, outcome, before);
    const shown = [...(await allEntries(table, 'r0')), ...(await allEntries(table, 'q0'))].filter(
      (each) => each.jobId === jobId,
    );
    const unfinished = after?.status === 'running' || after?.status === 'pending' ? [after] : [];
    expect(shown).toHaveLength(unfinished.length);
    expect(unfinished.map(leaseEntryOf)).toMatchObject(shown);
    before = after;
  }
}

function expectSound(before: Job | undefined, after: Job | undefined, move: Move): void {
  if (before === undefined || after === undefined) return;
  expect(after.attempt - before.attempt).toBe(move.do === 'claim' && after.attempt > before.attempt ? 1 : 0);
  const wasFinished = before.status === 'done' || before.status === 'failed' || before.status === 'cancelled';
  if (wasFinished && move.do !== 'revive') expect(after).toEqual(before);
  if (before.status === 'done') expect(after).toEqual(before);
  const { errors, crashes, lapses, maxAttempts = 0, maxCrashes = 0 } = after;
  expect(errors + crashes).toBeLessThanOrEqual(maxAttempts);
  expect(crashes).toBeLessThanOrEqual(maxCrashes);
  if (after.status === 'pending' || after.status === 'running') {
    expect(errors + crashes).toBeLessThan(maxAttempts);
    expect(crashes).toBeLessThan(maxCrashes);
    expect(lapses).toBeLessThan(settings.maxLapses);
  }
  expect([after.type, after.payload, after.createdAt]).toEqual([
    before.type,
    before.payload,
    before.createdAt,
  ]);
}

/** A fenced write is accepted only from the owner in the row just before it, or as the repetition of an end that stood. */
function expectOneOwner(world: World, move: Move, outcome: unknown, before: Job | undefined): void {
  if (!('which' in move) || move.do === 'reap') return;
  const claim = world.claims.at(-1 - move.which);
  const { outcome: said } = (outcome ?? {}) as { outcome?: string };
  const owned =
    claim !== undefined && before?.leaseOwner === claim.leaseOwner && before.attempt === claim.attempt;
  if (said !== 'written' && said !== 'extended') return;
  const end = `${move.do} by ${claim?.leaseOwner}`;
  if (move.do === 'heartbeat' || move.do === 'checkpoint' || !world.ends.has(end)) expect(owned).toBe(true);
  if (said === 'written') world.ends.add(end);
}
