import { describe, expect, it } from 'vitest';
import type { JobQueue } from '../../lib/protocol/ports.ts';
import { atDepth } from '../support/depth.ts';
import type { PlantedBug } from './planted-bug.ts';
import { seedsFrom } from './seeds.ts';
import { simulateMany } from './simulate.ts';

const SCHEDULES = atDepth(60, 5000);

const violationsOf = async (bug?: PlantedBug): Promise<string[]> => {
  const found: string[] = [];
  await simulateMany(seedsFrom(1, SCHEDULES), { size: 'brief', bug, ticks: true }, ({ seed, violation }) => {
    if (violation !== undefined) found.push(`seed ${seed}: ${violation}`);
    return found.length > 0;
  });
  return found;
};

/** A worker that reads other messages than were sent. */
const reading = (alter: (fields: Record<string, unknown>, messageId: string) => object) => ({
  alterWorker: <Ports extends { readonly queue: JobQueue }>(ports: Ports): Ports => ({
    ...ports,
    queue: {
      ...ports.queue,
      receive: async (request) =>
        (await ports.queue.receive(request)).map((message) => {
          const fields = JSON.parse(message.body) as Record<string, unknown>;
          if (fields.schedule === undefined) return message;
          return { ...message, body: JSON.stringify(alter(fields, message.messageId)) };
        }),
    } satisfies JobQueue,
  }),
});

describe('ticks of schedules, doubled and late, among all other faults', () => {
  it('make one job each while they are in time, and none after', async () => {
    expect(await violationsOf()).toEqual([]);
  });

  it('would be found if the id did not follow from schedule and time', async () => {
    const bug: PlantedBug = {
      name: 'a tick takes the id of its message',
      breaks: /claimed a job that no producer sent/,
      ...reading(({ schedule: _, scheduledAt: _at, lateAfterMs: _late, ...job }, messageId) => ({
        ...job,
        jobId: messageId,
      })),
    };
    expect((await violationsOf(bug))[0]).toMatch(bug.breaks);
  });

  it('would be found if late ones made jobs', async () => {
    const bug: PlantedBug = {
      name: 'a tick is never late',
      breaks: /claimed a job that no producer sent/,
      ...reading((tick) => ({ ...tick, lateAfterMs: 86_400_000 })),
    };
    expect((await violationsOf(bug))[0]).toMatch(bug.breaks);
  });
});
