import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ThrottledError } from '../../../lib/protocol/errors.ts';
import { inParallel } from '../../../lib/protocol/in-parallel.ts';
import { cutToBytes, toJsonText } from '../../../lib/protocol/rows/json-text.ts';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { waitAtMost } from '../../../lib/protocol/wait-at-most.ts';
import { longestPauseMs } from '../../../lib/settings/longest-pause.ts';
import { reclaimDelayBound } from '../../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { row } from '../../support/rows.ts';

describe('bounds', () => {
  it('of a reclaim’s delay include the grace', () => {
    expect(reclaimDelayBound(resolveSettings({ graceMs: 600_000 }))).toBe(604_000);
  });

  it('make a reaper look again before a new claim can lapse', () => {
    expect(longestPauseMs({ minLeaseMs: 10_000, skewMs: 2_000 })).toBe(12_000);
    expect(longestPauseMs({ minLeaseMs: 3_600_000, skewMs: 2_000 })).toBe(900_000);
  });
});

describe('what cannot be kept', () => {
  it('is reported with JSON’s reason', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const cause = (value: unknown) => {
      try {
        return toJsonText('result', value as never, 100);
      } catch (error) {
        return ((error as Error).cause as Error).message;
      }
    };
    expect(cause(cycle)).toContain('circular');
    expect(cause(() => 1)).toBe('it is a function');
  });

  it('is cut only at its end', () => {
    expect(cutToBytes(`a\ufffdb${'x'.repeat(50)}`, 20)).toBe('a\ufffdbxxxxxx… (cut)');
  });

  it('is left out of a job’s past where its attempt is no number', () => {
    const past = { attempt: '1', owner: 'w/1', from: 1, to: 2, outcome: 'lapsed' };
    expect(parseJob(row({ claim01: past })).claims).toEqual([]);
  });

  it('for load says so, and what to raise', () => {
    expect(new ThrottledError('claim', undefined).message).toBe(
      "DynamoDB throttled 'claim'; it is found again by the next sweep. Raise the table's maximum throughput, or 'shards' if one index key is hot",
    );
  });
});

describe('patience', () => {
  it('is given up as soon as the answer is there', async () => {
    const clock = createFakeClock();
    expect(await waitAtMost(1_000, Promise.resolve('yes'), clock)).toBe('yes');
    expect(clock.sleepers).toBe(0);
  });

  it('is given up when the answer is a failure, which is passed on', async () => {
    const clock = createFakeClock();
    await expect(waitAtMost(1_000, Promise.reject(new Error('no')), clock)).rejects.toThrow('no');
    expect(clock.sleepers).toBe(0);
  });

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

describe('work in parallel', () => {
  it('runs a limited number of parts at once, and completes them all', async () => {
    const ends: (() => void)[] = [];
    const begun: number[] = [];
    const all = inParallel([1, 2, 3, 4, 5], 2, (part) => {
      begun.push(part);
      return new Promise((resolve) => ends.push(resolve));
    });
    for (const under of [
      [1, 2],
      [1, 2, 3],
      [1, 2, 3, 4],
      [1, 2, 3, 4, 5],
    ]) {
      expect(begun).toEqual(under);
      ends.shift()?.();
      await Promise.resolve().then(() => {});
    }
    for (const end of ends) end();
    await all;
    expect(begun).toHaveLength(5);
  });

  it('passes a failure on', async () => {
    await expect(inParallel([1], 2, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});
