import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createSlots } from '../../../lib/worker/intake/slots.ts';

/** A job that returns and ends when it is told to. */
function job() {
  const returning = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  const run = async (returned: () => void) => {
    await returning.promise;
    returned();
    returned();
    await ending.promise;
  };
  return { run, handlerReturns: returning.resolve, ends: ending.resolve };
}

const turns = async () => {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('the slots of a process', () => {
  it('are not free while as many ends as there are slots, and a batch more, wait to be stored', async () => {
    let told = 0;
    const slots = createSlots(createFakeClock(), 2, () => {
      told += 1;
    });
    const jobs = Array.from({ length: 2 * 2 + 25 }, job);
    for (const each of jobs) {
      expect(slots.free()).toBeGreaterThan(0);
      slots.take(1);
      slots.run(each.run);
      each.handlerReturns();
      await turns();
    }
    expect(slots.free()).toBe(0);
    const before = told;
    jobs[0]?.ends();
    await turns();
    expect(slots.free()).toBe(1);
    expect(told).toBe(before + 1);
    for (const each of jobs) each.ends();
    expect(await slots.empty(1000)).toBe(true);
  });

  it('know how many come free in a while, and forget it', async () => {
    const clock = createFakeClock();
    const slots = createSlots(clock, 10, () => {});
    for (let i = 0; i < 20; i += 1) {
      slots.take(1);
      slots.unclaimed();
      await clock.advance(10);
    }
    expect(slots.freedPerMs()).toBeCloseTo(0.1, 1);
    await clock.advance(1000);
    expect(slots.freedPerMs()).toBe(0);
  });
});
