import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';

describe('a fake clock', () => {
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
});
