import { afterEach, beforeEach, expect, it } from 'vitest';
import { createClockGuard } from '../../lib/protocol/clock-guard.ts';
import { LEASE_EXPIRED } from '../../lib/protocol/job.ts';
import { allShards } from '../../lib/protocol/shards.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { createSweepMemory } from '../../lib/reaper/sweep-memory.ts';
import { watch } from '../../lib/reaper/watch.ts';
import { createHandClock, type HandClock } from '../../lib/testing/hand-clock.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { on, readsIndex } from '../support/faults.ts';
import { type ReaperOnEngine, reaperOnEngine } from '../support/reaper-on-engine.ts';

const JOBS = 100;
const ids = Array.from({ length: JOBS }, (_, i) => `job-${i}`);
const THROTTLE = { kind: 'throttle' } as const;

describeOnOneEngine('a reaper in trouble', (engine) => {
  let system: ReaperOnEngine;
  let clock: HandClock;

  beforeEach(async () => {
    clock = createHandClock();
    system = await reaperOnEngine({ engine, clock });
  });
  afterEach(() => system.close());

  /** A reaper whose breaker keeps out of the way, before 100 lapsed leases. */
  const atWork = async (name?: string) => {
    await system.seed(ids.map((id) => system.running(id, 60_000)));
    return another(name);
  };
  const another = (name = 'reaper/1') => system.reaper({ name, settings: { breakerThreshold: 1000 } });
  const rowsIn = async (kind: 'running' | 'pending') =>
    (await Promise.all(allShards(8)[kind].map((shard) => system.inIndex(shard)))).flat();
  const takenBackOnce = async () => {
    const rows = await Promise.all(ids.map((id) => another().store.read(id)));
    for (const row of rows)
      expect(row).toMatchObject({ status: 'pending', attempt: 1, crashes: 1, releases: 0 });
  };

  it('does the rest when one batch is throttled, and that one in the next sweep', async () => {
    const { deps } = await atWork();
    const memory = createSweepMemory(deps);
    // All attempts of the client's for the batch with the first job in it.
    const isChosen = (body: object) => JSON.stringify(body).includes('"job-0"');
    system.dynamodb.use(on('BatchExecuteStatement', THROTTLE, { when: ({ body }) => isChosen(body) }));
    const first = await sweep(deps, { memory });
    expect(first.skipped.unwritten).toBeGreaterThan(0);
    expect(first.reclaimed).toBe(JOBS - first.skipped.unwritten);
    expect(first.reclaimed).toBeGreaterThan(0);
    system.dynamodb.use();
    await clock.advance(1000);
    expect(await sweep(deps, { memory })).toMatchObject({ reclaimed: first.skipped.unwritten });
    await takenBackOnce();
    expect(await system.waitingHints()).toBe(JOBS);
  });

  it('does the other shards when one fails, and that one in a later sweep', async () => {
    const { deps, telemetry } = await atWork();
    const memory = createSweepMemory(deps);
    const asksShard = (body: object) => JSON.stringify(body).includes('"r3"');
    system.dynamodb.use(on('Query', { kind: 'serverError' }, { when: ({ body }) => asksShard(body) }));
    const first = await sweep(deps, { memory });
    expect(first).toMatchObject({ errors: 1, complete: false });
    expect(telemetry.lines.at(-1)?.fields).toMatchObject({
      errors: 1,
      reason: expect.stringContaining('Query'),
    });
    system.dynamodb.use();
    await clock.advance(1000);
    const second = await sweep(deps, { memory });
    expect(first.reclaimed + second.reclaimed).toBe(JOBS);
    await takenBackOnce();
  });

  it('tells apart which rows of a batch failed', async () => {
    const { deps } = await atWork();
    const memory = createSweepMemory(deps);
    system.dynamodb.use(on('BatchExecuteStatement', { kind: 'failSome', which: [1, 4], applied: false }));
    const first = await sweep(deps, { memory });
    expect(first).toMatchObject({ reclaimed: JOBS - 8, skipped: { unwritten: 8 } });
    expect(await rowsIn('running')).toHaveLength(8);
    system.dynamodb.use();
    await clock.advance(1000);
    expect(await sweep(deps, { memory })).toMatchObject({ reclaimed: 8 });
    await takenBackOnce();
  });

  it('charges a crash once when the reply of a batch is lost', async () => {
    const { deps } = await atWork();
    system.dynamodb.use(on('BatchExecuteStatement', { kind: 'dropReply' }, { first: 2 }));
    expect(await sweep(deps)).toMatchObject({ reclaimed: JOBS, hintsSent: JOBS, skipped: { moved: 0 } });
    expect(system.dynamodb.injected).toEqual({ dropReply: 2 });
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

  it('is not misled by an index that lags behind', async () => {
    const { deps } = await atWork();
    await sweep(deps);
    // Answers as of the first sweep: all jobs still seem to run.
    system.dynamodb.use((request) =>
      readsIndex(request) ? { kind: 'staleReply', byRequests: 1 } : undefined,
    );
    const misled = await sweep(deps);
    expect(misled).toMatchObject({ reclaimed: 0, redispatched: 0, hintsSent: 0 });
    expect(misled.skipped.moved).toBe(JOBS);
    await takenBackOnce();
  });

  it('ends a job that kills every worker as failed, by name, with an event', async () => {
    const { deps, claim, store, events, settings } = another();
    for (let crash = 0; crash < settings.maxCrashes; crash++) {
      await claim('poison');
      await clock.advance(settings.leaseMs + settings.skewMs);
      await sweep(deps);
    }
    expect(await store.read('poison')).toMatchObject({
      status: 'failed',
      attempt: 3,
      crashes: 3,
      lastError: LEASE_EXPIRED,
      claims: [{ outcome: 'lapsed' }, { outcome: 'lapsed' }, { outcome: 'lapsed' }],
    });
    expect(events.at(-1)).toMatchObject({ name: 'JobQuarantined', detail: { jobId: 'poison' } });
  });
});

describeOnOneEngine('a reaper with a wrong clock', (engine) => {
  it('refuses to act, and acts again when its clock agrees with the store’s', async () => {
    const system = await reaperOnEngine({ engine });
    try {
      await system.seed(ids.slice(0, 20).map((id) => system.running(id, 60_000)));
      const clockGuard = createClockGuard({ skewMs: 2000 });
      const { deps, telemetry, store } = system.reaper({ clockGuard });
      system.dynamodb.use(on('*', { kind: 'shiftDate', byMs: -60_000 }));
      const stop = new AbortController();
      const watching = watch(deps, { deadlineAt: Date.now() + 170_000, signal: stop.signal });
      await expect.poll(() => telemetry.values('ClockOffset').at(-1)).toBeGreaterThan(50_000);
      expect(system.dynamodb.counts).toEqual({ GetItem: expect.any(Number) });
      system.dynamodb.use();
      await expect.poll(() => telemetry.total('JobsReclaimed')).toBe(20);
      expect(await store.read('job-0')).toMatchObject({ status: 'pending' });
      expect(telemetry.lines.some((line) => line.message.startsWith('clock differs too much'))).toBe(true);
      stop.abort();
      expect(await watching).toMatchObject({ reclaimed: 20 });
      // A clock that is right is not reported: the last that was told of it is how wrong it was.
      expect(telemetry.values('ClockOffset').every((offset) => offset > 50_000)).toBe(true);
      expect(clockGuard.isSound()).toBe(true);
    } finally {
      await system.close();
    }
  });
});
