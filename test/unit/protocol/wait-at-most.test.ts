import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { waitAtMost } from '../../../lib/protocol/wait-at-most.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';

describe('patience', () => {
  it('ends without an answer', async () => {
    const clock = createFakeClock();
    const answer = waitAtMost(1_000, new Promise(() => {}), clock);
    await clock.advance(1_000);
    expect(await answer).toBeUndefined();
  });

  it('ends when its signal fires, and leaves no sleeper behind', async () => {
    const clock = createFakeClock();
    const stopping = new AbortController();
    const answer = waitAtMost(Number.POSITIVE_INFINITY, new Promise(() => {}), clock, stopping.signal);
    expect(clock.sleepers).toBe(1);
    stopping.abort();
    expect(await answer).toBeUndefined();
    expect(clock.sleepers).toBe(0);
    expect(await waitAtMost(1_000, new Promise(() => {}), clock, stopping.signal)).toBeUndefined();
  });

  it('leaves nothing behind on a signal that outlives it', async () => {
    const clock = createFakeClock();
    const { signal } = new AbortController();
    const answer = waitAtMost(1_000, Promise.resolve('yes'), clock, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    expect(await answer).toBe('yes');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
