import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createClockGuard } from '../../../lib/protocol/clock-guard.ts';
import { decideReap } from '../../../lib/protocol/decisions/decide-reap.ts';
import { BadRowError, ThrottledError } from '../../../lib/protocol/errors.ts';
import { inParallel } from '../../../lib/protocol/in-parallel.ts';
import type { IndexQuery, Table } from '../../../lib/protocol/ports.ts';
import { cutToBytes, toJsonText } from '../../../lib/protocol/rows/json-text.ts';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { allLeases, type FoundLease } from '../../../lib/protocol/store/all-leases.ts';
import { readLeases } from '../../../lib/protocol/store/lease-index.ts';
import { waitAtMost } from '../../../lib/protocol/wait-at-most.ts';
import { longestSleepMs } from '../../../lib/settings/longest-sleep.ts';
import { reclaimDelayBound, recoveryBound } from '../../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { leaseEntry, settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

describe('a page of leases', () => {
  const memory = createMemoryTable();
  const queries: IndexQuery[] = [];
  const table: Table = {
    ...memory,
    query(request) {
      queries.push(request);
      return memory.query(request);
    },
  };
  for (const [jobId, leaseShard] of ['r1', 'r0', 'r0'].entries())
    memory.put(row({ jobId: `j${jobId}`, leaseShard, leaseUntil: 5 }));
  memory.put(row({ jobId: 'bad', leaseShard: 'r1', leaseUntil: 0, attempt: 'x' }));

  it('is asked for with nothing but what is known', async () => {
    const found: FoundLease[] = [];
    for await (const lease of allLeases(table, { shards: ['r0', 'r1'], pageSize: 2 })) found.push(lease);
    const from = { limit: 2 } as const;
    expect(queries).toEqual([
      { ...from, partition: 'r0' },
      { ...from, partition: 'r1' },
      { ...from, partition: 'r0', cursor: { jobId: 'j2', leaseUntil: 5 } },
      { ...from, partition: 'r1', cursor: { jobId: 'j0', leaseUntil: 5 } },
    ]);
    // At the same moment the first shard goes first.
    expect(found.map(({ entry }) => entry?.jobId)).toEqual([undefined, 'j1', 'j2', 'j0']);
    expect(found[0]).toEqual({ bad: expect.any(BadRowError) });
  });

  it('has no cursor where it is the last', async () => {
    expect(await readLeases(table, { shard: 'r2', limit: 9 })).toEqual({ entries: [], bad: [] });
  });
});

describe('the clock guard between two replies', () => {
  const server = Date.parse('Sun, 31 Jan 2027 09:00:00 GMT');
  /** What is believed after a sure reply and then an unsure one, `later` ms apart by the server's clock. */
  const believed = (sure: number, unsure: number, later = 0) => {
    const guard = createClockGuard({ skewMs: 2_000 });
    const reply = (ahead: number, trip: number, moment: number) => ({
      sentAt: moment + 500 + ahead - trip / 2,
      receivedAt: moment + 500 + ahead + trip / 2,
      date: new Date(moment).toUTCString(),
    });
    guard.observe(reply(sure, 20, server));
    guard.observe(reply(unsure, 1_000, server + later));
    return guard.offset()?.offsetMs;
  };

  it('keeps the surer one as long as both can be true', () => {
    // 510 ms of doubt in one and 1,000 in the other.
    expect(believed(0, 1_510)).toBe(0);
    expect(believed(0, 1_511)).toBe(1_511);
    expect(believed(0, -1_511)).toBe(-1_511);
    expect(believed(-5_000, 5_000)).toBe(5_000);
    expect(believed(3_000, 3_900)).toBe(3_000);
  });

  it('keeps the surer one for thirty seconds', () => {
    // By this machine's clock they came in 30,000 and 31,000 ms apart.
    expect(believed(1_490, 1_000, 30_000)).toBe(1_490);
    expect(believed(1_490, 1_000, 31_000)).toBe(1_000);
  });
});

describe('bounds', () => {
  it('let a job be released as often as is allowed', () => {
    const entry = leaseEntry({ releases: settings.maxReleases - 1 });
    const at = { now: 200_000, settings, excuse: 'the reaper was late' } as const;
    expect(decideReap(entry, at)).toMatchObject({ kind: 'reclaim', releases: settings.maxReleases });
  });

  it('of a reclaim’s delay include the grace', () => {
    expect(reclaimDelayBound(resolveSettings({ graceMs: 600_000 }))).toBe(604_000);
  });

  it('of a demonstration have its schedule’s jitter divided, too', () => {
    const demo = resolveSettings({ timeScale: 10, reaperIntervalMs: 6_000 });
    // Lease, skew, interval, a tenth of a minute, and the sweep.
    expect(recoveryBound(demo).worstMs).toBe(30_000 + 2_000 + 6_000 + 6_000 + 500);
  });

  it('make a reaper look again before a new claim can lapse, and before its lead is gone', () => {
    const usual = { minLeaseMs: 10_000, skewMs: 2_000 };
    expect(longestSleepMs({ ...usual, leaderLeaseMs: 60_000 })).toBe(12_000);
    expect(longestSleepMs({ ...usual, leaderLeaseMs: 5_001 })).toBe(4_000);
  });
});

describe('what cannot be kept', () => {
  it('is told with the reason that JSON gave', () => {
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
    const clock = createHandClock();
    expect(await waitAtMost(1_000, Promise.resolve('yes'), clock)).toBe('yes');
    expect(clock.sleepers).toBe(0);
  });

  it('is given up when the answer is a failure, which is passed on', async () => {
    const clock = createHandClock();
    await expect(waitAtMost(1_000, Promise.reject(new Error('no')), clock)).rejects.toThrow('no');
    expect(clock.sleepers).toBe(0);
  });

  it('ends without an answer', async () => {
    const clock = createHandClock();
    const answer = waitAtMost(1_000, new Promise(() => {}), clock);
    await clock.advance(1_000);
    expect(await answer).toBeUndefined();
  });

  it('ends when its signal fires, and leaves no sleeper behind', async () => {
    const clock = createHandClock();
    const stopping = new AbortController();
    const answer = waitAtMost(Number.POSITIVE_INFINITY, new Promise(() => {}), clock, stopping.signal);
    expect(clock.sleepers).toBe(1);
    stopping.abort();
    expect(await answer).toBeUndefined();
    expect(clock.sleepers).toBe(0);
    expect(await waitAtMost(1_000, new Promise(() => {}), clock, stopping.signal)).toBeUndefined();
  });

  it('leaves nothing behind on a signal that outlives it', async () => {
    const clock = createHandClock();
    const { signal } = new AbortController();
    const answer = waitAtMost(1_000, Promise.resolve('yes'), clock, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    expect(await answer).toBe('yes');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('work in parallel', () => {
  it('has so many parts under way at once, and does every one', async () => {
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
