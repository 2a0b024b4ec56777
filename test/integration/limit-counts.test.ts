import { afterEach, expect, it } from 'vitest';
import { createControlReader } from '../../lib/protocol/limits/control.ts';
import type { Hint, JobQueue, ReceivedMessage } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { createTestStack } from '../../lib/testing/test-stack.ts';
import { limitGroup } from '../../lib/wire/limits.ts';
import { hintBody, jobBody, type SendOptions } from '../../lib/wire/message.ts';
import { defineJob, type JobOptions } from '../../lib/worker/define-job.ts';
import { createEngine } from '../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { meterCapacity } from '../support/capacity-meter.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { openJobsTable } from '../support/jobs-table.ts';

const PAYLOAD = 'x'.repeat(198);
/** No lease ends, and no heartbeat is due. */
const LONG_MS = 3_600_000;

/** A worker and a reaper on a real table, in virtual time; the test delivers the messages. */
async function createScene(endpoint: string, { limit }: Pick<JobOptions, 'limit'>) {
  const { clock, settings, ...stack } = createTestStack();
  const jobs = await openJobsTable(endpoint, clock);
  const meter = meterCapacity(jobs.client);
  const table = jobs.at();
  const ends = new Map<string, () => void>();
  const work = defineJob({
    type: 'work',
    limit,
    run: ({ jobId }) => new Promise<void>((resolve) => ends.set(jobId, resolve)),
  });
  const worker = stack.worker(createRegistry([work]));
  const { random, queue } = worker;
  const hints: Hint[] = [];
  const sendHints: JobQueue['sendHints'] = async (sent) => {
    hints.push(...sent);
    return { sent: sent.length, failed: [] };
  };
  const store = createJobStore({ table, clock, random, settings, actor: worker.worker });
  const control = createControlReader({ table, clock });
  const engine = createEngine({ ...worker, store, control, queue: { ...queue, sendHints } });
  const runs = new Map<string, Promise<unknown>>();
  let received = 0;
  const deliver = async (...bodies: readonly string[]): Promise<void> => {
    const messages = bodies.map((body): ReceivedMessage => {
      const messageId = `message-${++received}`;
      return { ...{ messageId, receiptHandle: messageId, body, sentAt: clock.now(), receiveCount: 1 } };
    });
    const opened = await Promise.all(messages.map((message) => engine.open(message)));
    for (const claimed of await engine.claim(opened.filter((each) => each.kind === 'claimable'))) {
      if (claimed.kind !== 'claimed') continue;
      const stopping = new AbortController().signal;
      runs.set(claimed.job.jobId, engine.run(claimed, { stopping, releaseWithinMs: 0 }));
      await expect.poll(() => ends.has(claimed.job.jobId)).toBe(true);
    }
  };
  return {
    clock,
    hints,
    close: jobs.close,
    send: (jobId: string, options: SendOptions = {}) =>
      deliver(jobBody('work', PAYLOAD, { jobId, ...options })),
    sendTogether: (jobIds: readonly string[]) =>
      deliver(...jobIds.map((jobId) => jobBody('work', PAYLOAD, { jobId }))),
    hint: (hint: Hint) => deliver(hintBody(hint)),
    async end(jobId: string) {
      ends.get(jobId)?.();
      await runs.get(jobId);
    },
    sweep: () =>
      sweep({ ...worker, table, store, queue: { ...queue, sendHints } }, { shards: settings.shards }),
    waiting: (most: number) => store.waiting(limitGroup('work'), most),
    /** The controls are read, so that no step pays for them. */
    readControls: () => control.current(0),
    async cost(act: () => Promise<unknown>) {
      meter.reset();
      hints.length = 0;
      await act();
      const { GetItem = 0, BatchGetItem = 0, Query = 0, ...writes } = meter.units;
      return {
        requests: meter.requests,
        writes: Object.values(writes).reduce((sum, units) => sum + units, 0),
        reads: GetItem + BatchGetItem + Query,
        hints: hints.length,
      };
    },
  };
}

type Scene = Awaited<ReturnType<typeof createScene>>;

describeOnOneEngine('the price of a limit', (engine) => {
  // DynamoDB Local says that an empty query is free; DynamoDB bills the smallest one.
  const price = (requests: number, writes: number, reads: number) => ({
    ...{ requests, writes, hints: 0 },
    reads: engine.engine === 'dynoxide' ? reads : expect.any(Number),
  });
  const idOf = (n: number) => `member-${n}.0123456789ab-0123456789ab`;
  const scenes: Scene[] = [];
  afterEach(async () => {
    for (const scene of scenes.splice(0)) await scene.close();
  });
  const open = async (limit: number | undefined): Promise<Scene> => {
    const scene = await createScene(engine.endpoint, { limit });
    scenes.push(scene);
    await scene.readControls();
    return scene;
  };
  /** Every place is taken, and the limit was just checked. */
  const full = async (limit: number): Promise<Scene> => {
    const scene = await open(limit);
    for (let n = 0; n < limit; n++) await scene.send(idOf(n), { leaseMs: LONG_MS });
    await scene.hint({ jobId: 'absent', type: 'work', delaySeconds: 0 });
    return scene;
  };

  it('is nothing for a type without one: 2 requests and 4 write units, as ever', async () => {
    const scene = await open(undefined);
    expect(await scene.cost(() => scene.send('a'))).toEqual(price(1, 2, 0));
    expect(await scene.cost(() => scene.end('a'))).toEqual(price(1, 2, 0));
  });

  it('is 2 requests for 25 new jobs that must wait, even if a message comes twice', async () => {
    const scene = await full(1);
    const jobIds = Array.from({ length: 25 }, (_, n) => `job-${n}`);
    const { requests, hints } = await scene.cost(() => scene.sendTogether([...jobIds, 'job-0']));
    expect([requests, hints]).toEqual([2, 25]);
    expect(await scene.waiting(30)).toHaveLength(25);
  });

  it.each([1, 16])(
    'is 6 write and 1.5 read units for a job that finds room, with %i places',
    async (limit) => {
      const scene = await open(limit);
      await scene.send('first');
      await scene.end('first');
      expect(await scene.cost(() => scene.send('a'))).toEqual(price(3, 3, 1));
      expect(await scene.cost(() => scene.end('a'))).toEqual(price(3, 3, 0.5));
    },
  );

  it('is one request, and a read unit in DynamoDB, more for the first job of a limit', async () => {
    const scene = await open(1);
    // The refused admission is a write unit more that neither engine reports.
    expect(await scene.cost(() => scene.send('a'))).toEqual(price(5, 3, 2));
  });

  it.each([1, 16])(
    'is 11 write and 7.5 read units and 3 messages for a job that waits, with %i places',
    async (limit) => {
      const scene = await full(limit);
      const parking = await scene.cost(() => scene.send('a'));
      expect(parking).toEqual({ ...price(2, 3, 1), hints: 1 });
      const [own] = scene.hints;
      await scene.clock.advance(2000);
      expect(await scene.cost(() => scene.hint(own as Hint))).toEqual(price(1, 0, 2));
      // This part is the price of the job that ends.
      const passing = await scene.cost(() => scene.end(idOf(0)));
      expect(passing).toEqual({ ...price(3, 3, 0.5), hints: 2 });
      const [first, second] = scene.hints;
      expect([first?.jobId, second?.jobId]).toEqual(['a', 'a']);
      const starting = await scene.cost(() => scene.hint(first as Hint));
      expect(starting).toEqual(price(3, 5, 2));
      expect(await scene.cost(() => scene.hint(second as Hint))).toEqual(price(1, 0, 2));
      expect(await scene.cost(() => scene.end('a'))).toEqual(price(3, 3, 0.5));
    },
  );

  it.each([1, 16])('is %i read units for each check of a full limit, once in 5 s', async (limit) => {
    const scene = await full(limit);
    await scene.send('a');
    const [own] = scene.hints.slice(-1);
    await scene.clock.advance(4999);
    expect(await scene.cost(() => scene.hint(own as Hint))).toEqual(price(1, 0, 2));
    await scene.clock.advance(1);
    expect(await scene.cost(() => scene.hint(own as Hint))).toEqual(price(2, 0, 2 + limit));
  });

  it('is 3 write and 2 read units and a message for each further 5 minutes', async () => {
    const scene = await full(1);
    await scene.send('a');
    for (let n = 0; n < 4; n++) {
      // The lease doubles up to 5 minutes.
      await scene.clock.advance(300_000);
      await scene.sweep();
    }
    await scene.clock.advance(299_000);
    expect((await scene.cost(scene.sweep)).writes).toBe(0);
    await scene.clock.advance(1000);
    const sweeping = await scene.cost(scene.sweep);
    expect([sweeping.writes, sweeping.hints]).toEqual([3, 1]);
    await scene.readControls();
    const [hint] = scene.hints;
    const looking = await scene.cost(() => scene.hint(hint as Hint));
    expect(looking).toEqual(price(2, 0, 2 + 1));
  });

  it('is 6 write units more for each job of a limit with 100 places that are taken', async () => {
    const scene = await open(100);
    for (let n = 0; n < 99; n++) await scene.send(idOf(n));
    expect(await scene.cost(() => scene.send('a'))).toEqual(price(3, 2 + 4, 1));
    expect(await scene.cost(() => scene.end('a'))).toEqual(price(3, 2 + 4, 0.5));
  });
});
