import { describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';

describe('the system clock', () => {
  it('wakes a sleeper with the reason of the signal, and leaves no timer behind', async () => {
    const waking = new AbortController();
    const sleep = systemClock.sleep(60_000, waking.signal);
    waking.abort('enough');
    await expect(sleep).rejects.toBe('enough');
  });

  it('does not fall asleep under a signal that has fired', async () => {
    await expect(systemClock.sleep(60_000, AbortSignal.abort('before'))).rejects.toBe('before');
  });
});

describe('the system’s chance', () => {
  it('never gives the same name twice, across many refills of its pool', () => {
    const names = new Set(Array.from({ length: 10_000 }, () => systemRandom.unique()));
    expect(names.size).toBe(10_000);
    expect([...names].every((name) => /^[\w-]{12}$/.test(name))).toBe(true);
  });
});
