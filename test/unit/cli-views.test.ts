import { describe, expect, it } from 'vitest';
import { systemChance } from '../../lib/aws/clock.ts';
import { decodeKey, decodePlace, encodeKey, encodePlace } from '../../lib/client/cursor.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { claimOf, type Job, type LeaseEntry, type RunningJob } from '../../lib/protocol/job.ts';
import { allShards } from '../../lib/protocol/shards.ts';
import { allLeases } from '../../lib/protocol/store/all-leases.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { factsOf, tellFacts } from '../../lib/tools/inspect/facts.ts';
import { leaseHolders } from '../../lib/tools/inspect/lease-holders.ts';
import { nextSteps } from '../../lib/tools/inspect/next-steps.ts';
import { workerOf } from '../../lib/tools/inspect/worker-name.ts';

const settings = defaultSettings;
const setUp = () => {
  const clock = createHandClock();
  const table = createMemoryTable();
  const store = createJobStore({ table, clock, chance: systemChance, settings, actor: 'test' });
  const job = (jobId: string) => ({
    ...{ jobId, type: 'email', payload: '1', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 },
  });
  const claim = async (jobId: string, owner: string) => {
    const outcome = await store.claim({ job: job(jobId), owner });
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return outcome.job;
  };
  const read = async (jobId: string) => (await store.read(jobId)) as Job;
  return { clock, table, store, job, claim, read };
};

describe('all leases', () => {
  it('come soonest end first from all shards, and go on from any place without gap or repeat', async () => {
    const { clock, table, claim } = setUp();
    for (let n = 0; n < 30; n++) {
      await claim(`job-${n}`, `w/${n}`);
      if (n % 3 === 0) await clock.advance(7);
    }
    const shards = allShards(8).running;
    const all: string[] = [];
    let last = 0;
    for await (const found of allLeases(table, { shards, pageSize: 2 })) {
      expect(found.entry?.leaseUntil).toBeGreaterThanOrEqual(last);
      last = found.entry?.leaseUntil ?? 0;
      all.push(found.entry?.jobId ?? '');
    }
    expect(new Set(all).size).toBe(30);
    for (const stop of [1, 10, 29]) {
      let seen = 0;
      const rest: string[] = [];
      for await (const { place } of allLeases(table, { shards, pageSize: 3 })) {
        if (++seen < stop || place === undefined) continue;
        for await (const found of allLeases(table, { shards, pageSize: 3, from: place }))
          rest.push(found.entry?.jobId ?? '');
        break;
      }
      expect(rest).toHaveLength(30 - stop);
    }
  });

  it('name rows that cannot be read, and go on past them', async () => {
    const { table, claim } = setUp();
    await claim('good', 'w/1');
    table.put({ ...(await claim('bad', 'w/2')), jobId: 'bad', errors: 'many' });
    const found = [];
    for await (const each of allLeases(table, { shards: allShards(8).running, pageSize: 5 }))
      found.push(each.entry === undefined ? each.bad.jobId : each.entry.jobId);
    expect(found.sort()).toEqual(['bad', 'good']);
  });
});

describe('a place in a listing', () => {
  it('survives being pasted, and is refused when it is not one', () => {
    const ties: Record<string, string>[] = [{ r0: 'a' }, { f12: 'bad:a-b.c_D', q3: 'by hand/ü 100%:x' }, {}];
    for (const upTo of ties) {
      const place = { at: 1_800_000_000_123, upTo };
      expect(decodePlace(encodePlace(place))).toEqual(place);
    }
    expect(encodePlace({ at: 1_800_000_000_123, upTo: { r0: 'invoice-1' } })).toBe(
      '1800000000123/r0:invoice-1',
    );
    expect(decodePlace(undefined)).toBeUndefined();
    for (const text of ['', 'x', '1/', '1/r0', '1/r0:', '1/r0:%', '/r0:a', '~a'])
      expect(() => decodePlace(text)).toThrow('the cursor is');
    for (const jobId of ['a', 'by hand ü%']) expect(decodeKey(encodeKey(jobId))).toEqual({ jobId });
    for (const text of ['', '~', '~%', '1/r0:a']) expect(() => decodeKey(text)).toThrow('the cursor is');
  });
});

describe('workers', () => {
  it('are what stands before the last slash of a claim’s owner', () => {
    expect(['w/1', 'host/w/1', 'bare', '/odd'].map(workerOf)).toEqual(['w', 'host/w', 'bare', '/odd']);
  });

  it('are STALE from the tick on which their last lease ends', async () => {
    const { clock, claim } = setUp();
    const start = clock.now();
    const entries: LeaseEntry[] = [];
    for (const id of ['a', 'b'])
      entries.push({ ...(await claim(id, `w/${id}`)), notBefore: 0, dispatches: 0 });
    const state = (at: number) => leaseHolders(entries, at, settings)[0]?.state;
    expect([state(start + 29_999), state(start + 30_000)]).toEqual(['live', 'STALE']);
    expect(leaseHolders(entries, start + 30_000, settings)[0]).toMatchObject({
      worker: 'w',
      lastHeartbeatAt: start,
      jobs: [{ jobId: 'a', isLapsed: true, lapsesAt: start + 32_000 }, { jobId: 'b' }],
    });
  });

  it('show their last heartbeat also under a growing lease', async () => {
    const { clock, claim } = setUp();
    const job = await claim('a', 'w/1');
    const beat = clock.now() + 1_000_000;
    const entry = { ...job, leaseUntil: beat + 100_000, notBefore: 0, dispatches: 0 };
    const [view] = leaseHolders([entry], beat, { ...settings, leaseGrowth: 0.1 });
    expect(view?.lastHeartbeatAt).toBe(beat);
  });
});

describe('the facts of a job', () => {
  it('names attempts that left no entry, and those older than the row remembers', async () => {
    const { clock, store, claim, read } = setUp();
    await claim('j', 'w/0');
    await store.releaseUnknown('j', 'w/0', planDispatch(clock.now(), clock.now(), settings));
    const facts = tellFacts(factsOf(await read('j')), 'pending');
    expect(facts).toContain(
      'attempt 1 left no entry: its claim was released before its worker learned of it',
    );
    for (let n = 1; n <= 22; n++) {
      const outcome = await store.claim({ job: { jobId: 'j' }, owner: `w/${n}` });
      if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
      const dispatch = planDispatch(clock.now(), clock.now(), settings);
      await store.release(claimOf(outcome.job), { errors: 0, releases: n, dispatch });
    }
    expect(tellFacts(factsOf(await read('j')), 'pending')).toContain(
      'attempts 1 to 3 are older than the row remembers',
    );
  });

  it('tells checkpoint, progress and a wished cancellation', async () => {
    const { clock, store, claim, read } = setUp();
    const claimed = claimOf(await claim('j', 'w/0'));
    await store.checkpoint(claimed, { seq: 2, checkpoint: 5, progress: { done: 3 } });
    await store.cancel('j');
    const facts = tellFacts(factsOf(await read('j')), 'pending');
    const next = nextSteps(await read('j'), clock.now(), settings);
    expect(facts).toContain('checkpoint 2 is saved: the next attempt continues from there');
    expect(facts).toContain('progress: {"done":3}');
    expect(next[0]?.says).toContain('sees the cancellation in the reply to its next heartbeat');
  });
});

describe('what happens next', () => {
  const says = (job: Job, now: number) => nextSteps(job, now, settings).map((step) => step.says);

  it('to a running job: its lease ends, the reaper acts, and at last it is overdue', async () => {
    const { clock, claim } = setUp();
    const job: RunningJob = await claim('j', 'w/0');
    const start = clock.now();
    expect(nextSteps(job, start, settings).map((step) => step.at)).toEqual([start + 30_000, start + 152_500]);
    expect(says(job, start)[1]).toContain('given to the next worker (crash 1 of 3)');
    expect(says(job, start + 30_000)[0]).toContain('the reaper may reclaim it');
    expect(says(job, start + 152_499)[0]).not.toContain('OVERDUE');
    expect(says(job, start + 152_500)[0]).toContain('OVERDUE');
    expect(says({ ...job, crashes: 2 }, start)[1]).toContain('quarantined: crash 3 of 3');
    expect(says({ ...job, errors: 4 }, start)[1]).toContain('failed: errors and crashes reach 5');
    expect(says({ ...job, cancelRequested: true }, start)[2]).toContain('cancelled, as an operator asked');
  });

  it('to a pending job: it falls due, is hinted, is hinted again, or waits for the reaper', async () => {
    const { clock, store, job } = setUp();
    const start = clock.now();
    await store.schedule(job('soon'), planDispatch(start, start + 60_000, settings));
    await store.schedule(job('far'), planDispatch(start, start + 3_600_000, settings));
    const soon = (await store.read('soon')) as Job;
    const far = (await store.read('far')) as Job;
    expect(says(soon, start)).toEqual([
      'it becomes due',
      expect.stringContaining('as soon as it receives its hint'),
      expect.stringContaining('the reaper sends another hint'),
    ]);
    expect(says(far, start)[1]).toContain('the reaper sends it to the queue');
    expect(says(soon, start + 600_000).at(-1)).toContain('OVERDUE');
  });

  it('to a finished job: nothing without an operator', async () => {
    const { clock, store, claim, read } = setUp();
    await store.complete(claimOf(await claim('d', 'w/0')));
    await store.fail(claimOf(await claim('f', 'w/1')), { errors: 1, lastError: 'x' });
    await store.reject({ messageId: 'm', reason: 'r', text: 't', bytes: 1, sha256: 's' });
    expect(says(await read('d'), clock.now())[0]).toBe('nothing: it is done');
    expect(says(await read('f'), clock.now())[0]).toContain("'leasehold revive f'");
    expect(says(await read('bad:m'), clock.now())[0]).toContain('have its producer send a valid one');
  });
});
