import { expect, it } from 'vitest';
import { BadRowError } from '../../lib/protocol/errors.ts';
import { readLeases } from '../../lib/protocol/store/lease-index.ts';
import { row } from '../support/rows.ts';
import type { Harness } from './harness.ts';

/** Rows that somebody edited by hand. */
export function describeBadRows(open: () => Harness): void {
  const pending = (harness: Harness, over: Readonly<Record<string, unknown>>) => {
    const jobId = harness.jobId();
    return row({ jobId, leaseOwner: undefined, ...over });
  };

  it.each([
    [{ type: undefined }, "'type' is missing"],
    [{ payload: 7 }, "'payload' is something else; it must be a string"],
    [{ attempt: 'one' }, "'attempt' is 'one' (string); it must be a whole number"],
    [{ checkpoint: '{' }, "'checkpoint' is something else; it must be JSON text"],
  ])('reading a row with %j names the attribute', async (over, message) => {
    const harness = open();
    const bad = pending(harness, over);
    await harness.put(bad);
    const reading = harness.store.read(String(bad.jobId));
    await expect(reading).rejects.toThrow(BadRowError);
    await expect(reading).rejects.toThrow(message);
    await expect(harness.store.cancel(String(bad.jobId))).rejects.toThrow(message);
    expect(await harness.table.read(String(bad.jobId))).toEqual(bad);
  });

  it('a page of the index sets unreadable rows apart and gives all others', async () => {
    const harness = open();
    const shard = `s-${harness.jobId()}`;
    const inShard = (name: string, over: Readonly<Record<string, unknown>>) =>
      harness.put(row({ jobId: `${shard}-${name}`, leaseShard: shard, ...over }));
    await Promise.all([
      inShard('a', { leaseUntil: 1 }),
      inShard('b', { leaseUntil: 2, attempt: 'x' }),
      inShard('c', { leaseUntil: 3, status: 'done' }),
      inShard('d', { leaseUntil: 4, status: 'running', maxCrashes: undefined }),
      inShard('e', { leaseUntil: 5, errors: 0.5 }),
      inShard('f', { leaseUntil: 6 }),
    ]);
    const page = await readLeases(harness.table, { shard, limit: 10 });
    expect(page.entries.map(({ jobId }) => jobId)).toEqual([`${shard}-a`, `${shard}-f`]);
    expect(page.bad.map((error) => error.message)).toEqual([
      expect.stringContaining("-b': 'attempt' is 'x'"),
      expect.stringContaining("-c': 'status' is 'done'"),
      expect.stringContaining("-d': 'maxCrashes' is missing"),
      expect.stringContaining("-e': 'errors' is 0.5"),
    ]);
  });

  it.each(['attempt', 'leaseMs'])(
    'claiming a job whose %s is no number names the row, and changes nothing',
    async (name) => {
      const harness = open();
      const bad = pending(harness, { [name]: 'many' });
      await harness.put(bad);
      const claiming = harness.store.claim({ job: { jobId: String(bad.jobId) }, owner: 'w/1' });
      await expect(claiming).rejects.toThrow(BadRowError);
      await expect(claiming).rejects.toThrow(`'${name}'`);
      expect(await harness.table.read(String(bad.jobId))).toEqual(bad);
    },
  );

  it('a refused claim on an unreadable row names the attribute; the others of its batch are claimed', async () => {
    const harness = open();
    const bad = pending(harness, { status: 'running', startedAt: undefined, leaseOwner: 'w/9' });
    await harness.put(bad);
    const requests = [harness.jobId(), String(bad.jobId), harness.jobId(), harness.jobId()].map((jobId) => ({
      job: { jobId, type: 't', payload: '1', leaseMs: 30_000, maxAttempts: 1, maxCrashes: 1 },
      owner: `w/${jobId}`,
    }));
    const outcomes = await harness.store.claimMany(requests);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['claimed', 'failed', 'claimed', 'claimed']);
    expect(outcomes[1]).toMatchObject({ error: expect.any(BadRowError) });
  });

  it('a stale holder is refused, and the true one’s beat is recognised, on a row that cannot be read', async () => {
    const harness = open();
    const bad = pending(harness, { status: 'running', leaseOwner: 'w/1', payload: 7, attempt: 3 });
    const jobId = String(bad.jobId);
    await harness.put(bad);
    const claim = { jobId, owner: 'w/1', attempt: 3, startedAt: 0 };
    const zombie = { ...claim, attempt: 2 };
    expect(await harness.store.heartbeat(zombie, 100_001)).toEqual({ outcome: 'lost' });
    expect(await harness.store.complete(zombie)).toEqual({ outcome: 'lost' });
    expect(await harness.store.heartbeat(claim, 100_000)).toEqual({
      outcome: 'extended',
      cancelRequested: false,
    });
    expect(await harness.store.complete(claim)).toEqual({ outcome: 'written' });
  });

  it('a row without an owner or start is still reclaimed', async () => {
    const harness = open();
    const shard = `s-${harness.jobId()}`;
    const jobId = `${shard}-1`;
    await harness.put(
      row({ jobId, leaseShard: shard, status: 'running', leaseOwner: undefined, startedAt: undefined }),
    );
    const [entry] = (await readLeases(harness.table, { shard, limit: 1 })).entries;
    if (entry === undefined) throw new Error('the entry should be readable');
    const action = {
      kind: 'reclaim',
      lapses: 1,
      lastError: 'worker lease expired',
      dispatch: harness.dispatch(),
    } as const;
    expect(await harness.store.reap(entry, action)).toEqual({ outcome: 'written' });
    expect(await harness.store.read(jobId)).toMatchObject({
      status: 'pending',
      claims: [{ owner: 'unknown', from: 70_000 }],
    });
  });
}
