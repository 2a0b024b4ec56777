import { afterEach, beforeEach, expect, it } from 'vitest';
import { allShards } from '../../lib/protocol/shards.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { createFakeClock, type FakeClock } from '../../lib/testing/fake-clock.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { on, readsIndex } from '../support/faults.ts';
import { type ReaperOnEngine, reaperOnEngine } from '../support/reaper-on-engine.ts';

const JOBS = 100;
const ids = Array.from({ length: JOBS }, (_, i) => `job-${i}`);

describeOnOneEngine('a reaper in trouble', (engine) => {
  let system: ReaperOnEngine;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = createFakeClock();
    system = await reaperOnEngine({ engine, clock });
  });
  afterEach(() => system.close());

  /** A reaper before 100 lapsed leases. */
  const atWork = async (name?: string) => {
    await system.seed(ids.map((id) => system.running(id, 60_000)));
    return another(name);
  };
  const another = (name = 'reaper/1') => system.reaper({ name });
  const rowsIn = async (kind: 'running' | 'pending') =>
    (await Promise.all(allShards(8)[kind].map((shard) => system.inIndex(shard)))).flat();
  const takenBackOnce = async () => {
    const rows = await Promise.all(ids.map((id) => another().store.read(id)));
    for (const row of rows)
      expect(row).toMatchObject({ status: 'pending', attempt: 1, lapses: 1, releases: 0 });
  };

  it('tells apart which rows of a batch failed', async () => {
    const { deps } = await atWork();
    system.dynamodb.use(on('BatchExecuteStatement', { kind: 'failSome', which: [1, 4], applied: false }));
    const first = await sweep(deps);
    expect(first).toMatchObject({ reclaimed: JOBS - 8, skipped: { unwritten: 8 } });
    expect(await rowsIn('running')).toHaveLength(8);
    system.dynamodb.use();
    await clock.advance(1000);
    expect(await sweep(deps)).toMatchObject({ reclaimed: 8 });
    await takenBackOnce();
  });

  it('charges a crash once when the reply of a batch is lost', async () => {
    const { deps } = await atWork();
    system.dynamodb.use(on('BatchExecuteStatement', { kind: 'dropReply' }, { first: 1 }));
    expect(await sweep(deps)).toMatchObject({ reclaimed: JOBS, hintsSent: JOBS, skipped: { moved: 0 } });
    expect(system.dynamodb.injected).toEqual({ dropReply: 1 });
    await takenBackOnce();
    expect(await system.waitingHints()).toBe(JOBS);
  });

  it('charges a crash once when every reply is lost, and hints when the queue’s lease ends', async () => {
    const { deps, settings } = await atWork();
    system.dynamodb.use(on('BatchExecuteStatement', { kind: 'dropReply' }));
    expect(await sweep(deps)).toMatchObject({ reclaimed: 0, hintsSent: 0, skipped: { unwritten: JOBS } });
    system.dynamodb.use();
    await takenBackOnce();
    await clock.advance(settings.dispatchLeaseMs);
    expect(await sweep(deps)).toMatchObject({ reclaimed: 0, redispatched: JOBS, hintsSent: JOBS });
    expect(await system.waitingHints()).toBe(JOBS);
  });

  it('hints again what a reaper that died between write and hint left behind', async () => {
    const { deps, settings } = await atWork();
    // From here on the first reaper hangs in its hints for ever, as good as dead.
    system.sqs.use(on('SendMessageBatch', { kind: 'silence', applied: false }));
    void sweep(deps);
    await expect.poll(async () => (await rowsIn('running')).length).toBe(0);
    system.sqs.use();
    const heir = another('reaper/2');
    expect(await sweep(heir.deps)).toMatchObject({ redispatched: 0 });
    await clock.advance(settings.dispatchLeaseMs);
    expect(await sweep(heir.deps)).toMatchObject({ redispatched: JOBS, hintsSent: JOBS });
    await takenBackOnce();
  });

  it('takes each job back exactly once with two reapers at the same time', async () => {
    const first = await atWork('reaper/1');
    const second = another('reaper/2');
    // Neither writes before both have read everything.
    let reads = 0;
    let go = () => {};
    const bothHaveRead = new Promise<void>((resolve) => {
      go = resolve;
    });
    system.dynamodb.use((request) => {
      if (request.operation === 'BatchExecuteStatement') return { kind: 'hold', before: bothHaveRead };
      if (readsIndex(request) && JSON.stringify(request.body).includes('"r') && ++reads >= 16)
        setTimeout(go, 200);
      return undefined;
    });
    const results = await Promise.all([sweep(first.deps), sweep(second.deps)]);
    const sum = (pick: (result: (typeof results)[number]) => number) =>
      results.reduce((total, result) => total + pick(result), 0);
    expect(sum((r) => r.reclaimed)).toBe(JOBS);
    expect(sum((r) => r.skipped.moved)).toBe(JOBS);
    await takenBackOnce();
    expect(await system.waitingHints()).toBe(JOBS);
    expect(first.events.length + second.events.length).toBe(JOBS);
  });
});
