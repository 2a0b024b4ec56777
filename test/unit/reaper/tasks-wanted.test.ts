import { describe, expect, it } from 'vitest';
import { publishTasksWanted } from '../../../lib/reaper/tasks-wanted.ts';
import { createTestStack } from '../../../lib/testing/test-stack.ts';

const tasks = { max: 20, concurrency: 10 };
const pools = {
  render: { queueUrl: 'render-queue', types: ['render', 'encode'], tasks },
  // A pool of functions, which Lambda scales by itself.
  mail: { queueUrl: 'mail-queue', types: ['mail'] },
};

/** What is published with so many running jobs of each type, and so many visible messages. */
async function wanted(running: Readonly<Record<string, number>>, visible: number | Error, shards = 4) {
  const { table, store, telemetry } = createTestStack({ settings: { shards, maxRunning: 100 } });
  const asked: string[] = [];
  const published: [string, string, number][] = [];
  for (const [type, count] of Object.entries(running))
    for (let n = 0; n < count; n++)
      await store.claim({
        job: { jobId: `${type}-${n}`, type, payload: '{}', leaseMs: 20_000, maxAttempts: 5, maxCrashes: 3 },
        owner: `worker/${n}`,
      });
  await publishTasksWanted({
    ...{ table, shards, pools },
    telemetry: { ...telemetry, gaugeOfPool: (...given) => void published.push(given) },
    visibleIn: async (queueUrl) => {
      asked.push(queueUrl);
      if (visible instanceof Error) throw visible;
      return visible;
    },
  });
  return { published, asked, lines: telemetry.lines };
}

describe('the containers that a pool needs', () => {
  it.each([
    ['nothing waits or runs', {}, 0, 0],
    ['one message waits', {}, 1, 1],
    ['messages wait for two and a half', {}, 25, 3],
    ['ten busy containers have emptied the queue', { render: 60, encode: 40 }, 0, 10],
    ['one job runs', { encode: 1 }, 0, 1],
    ['jobs wait and run', { render: 15 }, 6, 3],
    ['more waits than the pool may run', {}, 5000, 20],
    ['only other pools are busy', { mail: 30, invoice: 30 }, 0, 0],
  ])('follow from what waits and runs: %s', async (_, running, visible, expected) => {
    const { published, asked } = await wanted(running, visible);
    expect(published).toEqual([['TasksWanted', 'render', expected]]);
    expect(asked).toEqual(['render-queue']);
  });

  it('are at least one while a shard has more jobs than a tick reads', async () => {
    const { published } = await wanted({ invoice: 1001 }, 0, 1);
    expect(published).toEqual([['TasksWanted', 'render', 1]]);
  });

  it('stay as they are when the queue cannot be asked', async () => {
    const { published, lines } = await wanted({ render: 1 }, new Error('denied'));
    expect(published).toEqual([]);
    expect(lines).toMatchObject([{ level: 'error', message: expect.stringContaining('keep their size') }]);
  });
});
