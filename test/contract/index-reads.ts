import { expect, it } from 'vitest';
import type { Cursor, IndexQuery } from '../../lib/protocol/ports.ts';
import { allFailures } from '../../lib/protocol/store/all-failures.ts';
import { readLeases } from '../../lib/protocol/store/lease-index.ts';
import type { Place } from '../../lib/protocol/store/merged-shards.ts';
import { row } from '../support/rows.ts';
import { allEntries, type Harness } from './harness.ts';

/** Reading the indexes: in order, page by page, from where the last page ended. */
export function describeIndexReads(open: () => Harness): void {
  /** Leases that end at 1000, 1001, … in a shard of their own; every second pair shares its moment. */
  const leases = async (harness: Harness, ends: readonly number[]) => {
    const shard = `s-${harness.jobId()}`;
    const rows = ends.map((leaseUntil, n) => row({ jobId: `${shard}-${n}`, leaseShard: shard, leaseUntil }));
    await Promise.all(rows.map((each) => harness.put(each)));
    return shard;
  };
  const ends = (entries: readonly { readonly leaseUntil: number }[]) =>
    entries.map((entry) => entry.leaseUntil);

  it('gives the soonest lease end first', async () => {
    const harness = open();
    const shard = await leases(harness, [1_003, 1_001, 1_002, 7]);
    const page = await readLeases(harness.table, { shard, limit: 10 });
    expect(ends(page.entries)).toEqual([7, 1_001, 1_002, 1_003]);
    expect(page.bad).toEqual([]);
    expect(page.cursor).toBeUndefined();
  });

  it.each([1, 2, 13, 100])('reads 13 entries in pages of %i without a gap or a double', async (limit) => {
    const harness = open();
    const shard = await leases(harness, [1, 1, 2, 3, 3, 3, 4, 5, 6, 6, 7, 8, 9]);
    const entries = await allEntries(harness.table, shard, limit);
    expect(ends(entries)).toEqual([1, 1, 2, 3, 3, 3, 4, 5, 6, 6, 7, 8, 9]);
    expect(new Set(entries.map(({ jobId }) => jobId)).size).toBe(13);
  });

  it('continues after the cursor even if its entry is gone and others have appeared', async () => {
    const harness = open();
    const shard = await leases(harness, [10, 20, 30]);
    const first = await readLeases(harness.table, { shard, limit: 2 });
    const [, second] = first.entries;
    await harness.put(
      row({ jobId: second?.jobId, leaseShard: shard, leaseUntil: undefined, status: 'done' }),
    );
    await harness.put(row({ jobId: `${shard}-early`, leaseShard: shard, leaseUntil: 15 }));
    await harness.put(row({ jobId: `${shard}-late`, leaseShard: shard, leaseUntil: 25 }));
    const rest = await readLeases(harness.table, { shard, limit: 10, cursor: first.cursor as Cursor });
    expect(ends(rest.entries)).toEqual([25, 30]);
  });

  it.each([
    [{ upTo: 19 }, [10]],
    [{ upTo: 20 }, [10, 20]],
    [{ upTo: 21 }, [10, 20]],
    [{ after: 19 }, [20, 30]],
    [{ after: 20 }, [30]],
    [{ after: 10, upTo: 20 }, [20]],
    [{ after: 20, upTo: 20 }, []],
    [{ after: 30, upTo: 20 }, []],
    [{ upTo: 9 }, []],
    [{ upTo: 20, limit: 1 }, [10]],
  ])('finds and counts %j as %j', async (range, expected) => {
    const harness = open();
    const shard = await leases(harness, [10, 20, 30]);
    const query: IndexQuery = { partition: shard, limit: 10, ...range };
    const page = await harness.table.query(query);
    expect(page.rows.map((each) => each.leaseUntil)).toEqual(expected);
    const counted = await harness.table.count({
      partition: shard,
      atMost: query.limit,
      ...withoutLimit(range),
    });
    expect([counted.count, counted.cursor === undefined]).toEqual([
      expected.length,
      query.limit > expected.length,
    ]);
  });

  it('counts on from where an incomplete count ended', async () => {
    const harness = open();
    const partition = await leases(harness, [1, 1, 2, 3, 4]);
    const first = await harness.table.count({ partition, atMost: 3 });
    expect(first.count).toBe(3);
    const rest = await harness.table.count({ partition, atMost: 3, cursor: first.cursor as Cursor });
    expect(rest).toEqual({ count: 2 });
  });

  it('lists failures of all shards newest first, page by page, and resumes where a reader stopped', async () => {
    const harness = open();
    // Far ahead of whatever the other tests leave behind.
    const start = 9_000_000_000_000;
    const ids = await Promise.all(
      [1, 2, 2, 3, 9].map(async (at, i) => {
        const jobId = harness.jobId();
        const place = { leaseShard: `f${i * 7}`, leaseUntil: start + at };
        await harness.put(row({ jobId, status: 'failed', type: `t${at % 2}`, ...place }));
        return jobId;
      }),
    );
    const request = { shards: 64, since: start, before: start + 3 };
    const listed = async (pageSize: number, from?: Place) => {
      const found: { readonly at: number; readonly jobId: string; readonly place: Place }[] = [];
      for await (const each of allFailures(harness.table, { ...request, pageSize, from }))
        found.push({ ...each, at: each.failure.failedAt - start, jobId: each.failure.jobId });
      return found;
    };
    for (const pageSize of [1, 3]) {
      const found = await listed(pageSize);
      expect(found.map(({ at }) => at)).toEqual([3, 2, 2, 1]);
      expect(found.map(({ jobId }) => jobId).sort()).toEqual(ids.slice(0, 4).sort());
      expect((await listed(pageSize, found[1]?.place)).map(({ at }) => at)).toEqual([2, 1]);
    }
  });
}

const withoutLimit = ({ limit: _, ...range }: { limit?: number; upTo?: number; after?: number }) => range;
