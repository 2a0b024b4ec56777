import { describe, expect, it } from 'vitest';
import type { JobQueue } from '../../lib/protocol/ports.ts';
import { atDepth } from '../support/depth.ts';
import { minimise, story } from './minimise.ts';
import type { PlantedBug } from './planted-bug.ts';
import { seedsFrom } from './seeds.ts';
import { type SimulationResult, simulateMany } from './simulate.ts';

const violationOf = async (count: number, bug?: PlantedBug): Promise<SimulationResult | undefined> => {
  let broken: SimulationResult | undefined;
  await simulateMany(seedsFrom(1, count), { size: 'brief', bug, pools: true }, (result) => {
    if (result.violation !== undefined) broken = result;
    return broken !== undefined;
  });
  return broken;
};

/** A worker that reads other hints than were sent. */
const reading = (alter: (hint: Record<string, unknown>) => object): Pick<PlantedBug, 'alterWorker'> => ({
  alterWorker: (ports) => ({
    ...ports,
    queue: {
      ...ports.queue,
      receive: async (request) =>
        (await ports.queue.receive(request)).map((message) => {
          const fields = JSON.parse(message.body) as Record<string, unknown>;
          return fields.hint === undefined ? message : { ...message, body: JSON.stringify(alter(fields)) };
        }),
    } satisfies JobQueue,
  }),
});

const bugs: readonly PlantedBug[] = [
  {
    name: 'a forwarded hint is forwarded again',
    breaks: /forwarded a message that was forwarded before/,
    ...reading(({ forwarded: _, ...hint }) => hint),
  },
  {
    name: 'a worker claims without a look at the type',
    breaks: /claimed a job that it does not run/,
    ...reading(({ type: _, ...hint }) => hint),
  },
  {
    name: 'a message of another pool is deleted before its job has a row',
    breaks: /was accepted and has neither row nor message/,
    alterWorker: ({ store, queue }) => ({
      queue,
      store: { ...store, schedule: async (job) => ({ outcome: 'exists', job: job as never }) },
    }),
  },
];

describe('a type that moves between two pools, deployed in any order', () => {
  it('loses no job, charges none for its queue, and forwards each message once', async () => {
    const broken = await violationOf(atDepth(200, 20_000));
    if (broken !== undefined)
      throw new Error(story(await minimise({ seed: broken.seed, size: 'brief', pools: true })));
  });

  it.each(bugs)('would be found: $name', async (bug) => {
    expect((await violationOf(400, bug))?.violation).toMatch(bug.breaks);
  });
});
