import { describe, expect, it } from 'vitest';
import { createControlReader } from '../../../lib/protocol/limits/control.ts';
import { parseGroup } from '../../../lib/protocol/limits/group.ts';
import { pauseType, resumeType } from '../../../lib/protocol/limits/operate.ts';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { limitGroup } from '../../../lib/wire/limits.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { defineJob, type JobOptions } from '../../../lib/worker/define-job.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { deliver } from '../../support/claims.ts';

const HOUR = 3_600_000;

function stage(limit: JobOptions['limit'], ...others: readonly string[]) {
  const stack = createTestStack();
  const ran: string[] = [];
  const run = ({ jobId }: { readonly jobId: string }) => void ran.push(jobId);
  const types = others.map((type) => defineJob({ type, run }));
  const worker = stack.worker(createRegistry([defineJob({ type: 'sync', limit, run }), ...types]));
  const engine = createEngine({ ...worker, control: createControlReader(stack) });
  const given = (...bodies: readonly string[]) => deliver(stack, engine, ...bodies);
  const membersOf = async (key?: string) =>
    parseGroup(await stack.table.read(limitGroup('sync', key))).members;
  return { ...stack, deliver: given, ran, membersOf, operator: { ...stack, by: 'operator' } };
}

describe('a plain message for a type that is limited per key', () => {
  it.each(['', 'a:b', 'x'.repeat(101), 7, null])(
    'is kept as a failed row with the reason, if its key is %j',
    async (key) => {
      const { deliver, ran, store, telemetry } = stage({ perKey: 1 });
      await deliver(JSON.stringify({ type: 'sync', jobId: 'a', key }));
      expect(ran).toEqual([]);
      const job = await store.read('bad:a');
      expect(job).toMatchObject({ status: 'failed' });
      expect(job?.lastError).toMatch(/'key' is .*1 to 100 characters/);
      expect(telemetry.total('MessagesRejected')).toBe(1);
    },
  );

  it('runs without a key, unlimited, and is counted', async () => {
    const { deliver, ran, telemetry, membersOf } = stage({ perKey: 1 });
    await deliver(jobBody('sync', 1, { jobId: 'a' }));
    expect(ran).toEqual(['a']);
    expect(telemetry.total('KeysMissing')).toBe(1);
    expect(await membersOf()).toEqual({});
  });

  it('runs by a hint whose key is illegal: the row has the true one', async () => {
    const { deliver, ran, store, membersOf } = stage({ perKey: 1 });
    const job = { jobId: 'a', type: 'sync', key: 'tenant-7', payload: '1' };
    await store.schedule(job, { notBefore: 0, leaseUntil: 60_000, dispatches: 1 });
    await deliver(JSON.stringify({ hint: 'a', type: 'sync', key: 'a:b' }));
    expect(ran).toEqual(['a']);
    expect(await membersOf('tenant-7')).toEqual({});
  });
});

describe('a batch of new jobs, one of which cannot be parked', () => {
  it('comes again, and the others have their hints', async () => {
    const stack = createTestStack();
    const worker = stack.worker(createRegistry([defineJob({ type: 'sync', limit: 1, run: () => {} })]));
    const { store, queue } = worker;
    await store.admit({ name: limitGroup('sync'), limit: 1 }, { jobId: 'other', attempt: 1 });
    await store.claim({ job: { jobId: 'other', type: 'sync', payload: '1' }, owner: 'w/1' });
    const scheduleMany: typeof store.scheduleMany = async ([first, ...others]) => [
      { outcome: 'failed', error: new Error(`no answer for ${first?.job.jobId}`) },
      ...(await store.scheduleMany(others)),
    ];
    const engine = createEngine({ ...worker, store: { ...store, scheduleMany } });
    await queue.sendJobs(['a', 'b', 'c'].map((jobId) => ({ body: jobBody('sync', 1, { jobId }) })));
    const opened = await Promise.all(
      (await queue.receive({ max: 10, waitSeconds: 0 })).map((message) => engine.open(message)),
    );
    const verdicts = await engine.claim(opened.filter((each) => each.kind === 'claimable'));
    expect(verdicts.map(({ kind }) => kind)).toEqual(['returned', 'returned', 'returned']);
    expect(await store.waiting(limitGroup('sync'), 9)).toEqual(['b', 'c']);
    expect(stack.telemetry.total('HintsSent')).toBe(2);
    expect(stack.telemetry.total('JobsParked')).toBe(2);
  });
});

describe('a job that waits for the limit of an earlier deployment', () => {
  it('waits in the line of the new one once a hint finds that full', async () => {
    const { deliver, store, clock } = stage({ perKey: 1 });
    const dispatch = { notBefore: 0, leaseUntil: clock.now() + 60_000, dispatches: 1 };
    const job = { jobId: 'a', type: 'sync', key: 'tenant-7', payload: '1' };
    await store.schedule(job, dispatch, { waitsFor: limitGroup('sync') });
    const group = { name: limitGroup('sync', 'tenant-7'), limit: 1 };
    await store.admit(group, { jobId: 'b', attempt: 1 });
    await store.schedule({ ...job, jobId: 'b' }, dispatch);
    await store.claim({ job: { jobId: 'b' }, owner: 'w/1' });
    await deliver(JSON.stringify({ hint: 'a', type: 'sync', key: 'tenant-7' }));
    expect(await store.waiting(group.name, 9)).toEqual(['a']);
  });
});

describe('a later message with the id of a paused job, and another type', () => {
  it('does not run the job', async () => {
    const { deliver, ran, store, operator } = stage(undefined, 'other');
    await pauseType(operator, 'sync');
    await deliver(jobBody('sync', 1, { jobId: 'a' }));
    await deliver(jobBody('other', 1, { jobId: 'a' }));
    expect(ran).toEqual([]);
    expect(await store.read('a')).toMatchObject({ status: 'pending', type: 'sync', attempt: 0 });
  });
});

describe('a tick of a schedule that waited', () => {
  const tick = (at: number, lateAfterMs: number) =>
    JSON.stringify({
      ...{ type: 'sync', schedule: 'nightly', lateAfterMs },
      scheduledAt: new Date(at).toISOString(),
    });
  const idOf = (ms: number) => `nightly.${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

  it.each([undefined, 1])(
    'runs up to its limit after a pause, and is cancelled past it; limit %s',
    async (limit) => {
      const { deliver, ran, store, telemetry, clock, operator, membersOf } = stage(limit);
      const at = clock.now();
      await pauseType(operator, 'sync');
      await deliver(tick(at, 3 * HOUR), tick(at + 1000, HOUR));
      await clock.advance(2 * HOUR);
      expect(ran).toEqual([]);
      await resumeType(operator, 'sync');
      await clock.advance(2000);
      await deliver();
      expect(ran).toEqual([idOf(at)]);
      expect(await store.read(idOf(at))).toMatchObject({ status: 'done' });
      expect(await store.read(idOf(at + 1000))).toMatchObject({
        status: 'cancelled',
        acts: [{ act: 'cancel' }],
      });
      expect(telemetry.total('TicksLate')).toBe(1);
      expect(await membersOf()).toEqual({});
    },
  );
});
