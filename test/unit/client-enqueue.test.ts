import { expect, it } from 'vitest';
import * as z from 'zod/mini';
import { enqueueItems } from '../../lib/client/enqueue-items.ts';
import { defineJob } from '../../lib/index.ts';
import { createTestStack } from '../../lib/testing/test-stack.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

const registry = createRegistry([defineJob({ type: 'ship', payload: z.unknown(), run: () => undefined })]);

/** A client's parts in memory, on a table that a reaper has swept. */
function createParts() {
  const { table, clock, settings, queue, store } = createTestStack();
  table.put({ jobId: 'leader:reaper', shards: 3 });
  const found = { tableName: 'jobs' };
  return { table, clock, settings, store, registry, found, actor: 'client', queue: () => queue };
}

it('a job for a transaction has separate items for large data, and writes nothing itself', async () => {
  const parts = createParts();
  const small = await enqueueItems(parts, 'ship', 1, { jobId: 'a' });
  const large = await enqueueItems(parts, 'ship', 'x'.repeat(5_000), { jobId: 'b' });
  const keys = (job: typeof small) => job.documentItems.map(({ Update: { Key } }) => String(Key.jobId));
  expect(keys(small)).toEqual(['a']);
  expect(keys(large)).toEqual([expect.stringMatching(/^b#p/), 'b']);
  for (const { Update } of large.items) expect(Update.ConditionExpression).toMatch(/attribute_not_exists/);
  expect(parts.table.rows()).toHaveLength(1);
  expect(await small.wasWritten()).toBe(false);
});

it('a job for a transaction is refused where the reaper row names shards that no reaper sweeps', async () => {
  const parts = createParts();
  parts.table.put({ jobId: 'leader:reaper', shards: 100_000 });
  await expect(enqueueItems(parts, 'ship', 1)).rejects.toThrow("'leasehold doctor' shows what is wrong");
});
