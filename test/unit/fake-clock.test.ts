import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../lib/testing/fake-random.ts';

describe('a fake clock', () => {
  it('stands still until it is moved, and moves wall and monotonic time alike', async () => {
    const clock = createFakeClock();
    const start = clock.now();
    expect([start, clock.monotonic()]).toEqual([1_800_000_000_000, 0]);
    await clock.advance(1500);
    expect([clock.now(), clock.monotonic()]).toEqual([start + 1500, 1500]);
  });

  it('wakes sleepers at their moment and in their order, also those that sleep again', async () => {
    const clock = createFakeClock(0);
    const woken: string[] = [];
    const sleepTwice = async (name: string, ms: number) => {
      await clock.sleep(ms);
      woken.push(`${name} ${clock.now()}`);
      await clock.sleep(ms);
      woken.push(`${name} ${clock.now()}`);
    };
    void sleepTwice('slow', 300);
    void sleepTwice('fast', 100);
    await clock.advance(599);
    expect(woken).toEqual(['fast 100', 'fast 200', 'slow 300']);
    expect(clock.sleepers).toBe(1);
    await clock.advance(1);
    expect(woken.at(-1)).toBe('slow 600');
  });

  it('ends a sleep with the reason of its signal', async () => {
    const clock = createFakeClock();
    const wake = new AbortController();
    const sleep = clock.sleep(1000, wake.signal);
    wake.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
    await expect(clock.sleep(1, wake.signal)).rejects.toThrow('enough');
    expect(clock.sleepers).toBe(0);
  });

  it('sets the wall clock without time passing', async () => {
    const clock = createFakeClock();
    clock.set(5);
    expect([clock.now(), clock.monotonic()]).toEqual([5, 0]);
  });

  it('goes with a chance that counts', () => {
    const random = createFakeRandom(0.25);
    expect([random.next(), random.unique(), random.unique()]).toEqual([0.25, 'u1', 'u2']);
  });
});
