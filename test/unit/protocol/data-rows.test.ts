import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createDataRows } from '../../../lib/protocol/store/data-rows.ts';
import type { Row } from '../../../lib/protocol/writes/row-write.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';

/** Data rows on a table that is watched; `on` stands in for some of it. */
function stage(on: Partial<Table> = {}) {
  const memory = createMemoryTable();
  const clock = createFakeClock();
  const requests: unknown[] = [];
  const table: Table = {
    ...memory,
    applyMany: (writes) => {
      requests.push(['applyMany', writes.map(({ jobId }) => jobId)]);
      return (on.applyMany ?? memory.applyMany)(writes);
    },
    read: (key) => {
      requests.push(['read', key]);
      return memory.read(key);
    },
    readMany: (keys) => {
      requests.push(['readMany', keys]);
      return memory.readMany(keys);
    },
  };
  const data = createDataRows({ table, clock, random: createFakeRandom(), settings });
  return { memory, clock, data, requests };
}

const pointer = (place: string, over = {}) => ({ in: place, parts: 1, bytes: 4, ...over });

describe('a text outside the row', () => {
  it('is missed where it was deleted before its time and a late repeat has put an older one in its place', async () => {
    const { memory, data } = stage();
    const replace = (text: string, seq: number) =>
      data.replace({ jobId: 'j1', name: 'checkpoint', text }, 'c1.1.0', { attempt: 1, seq });
    const checkpoint = await replace('"new"', 7);
    const row = { jobId: 'j1', checkpoint } as unknown as Row;
    expect(await data.resolve(row)).toMatchObject({ row: { checkpoint: '"new"' }, missing: [] });
    for (const older of [
      { attempt: 1, seq: 5 },
      { attempt: 0, seq: 7 },
    ]) {
      memory.put({ jobId: 'j1#c1.1.0', data: '"old"', ...older });
      expect(await data.resolve(row)).toMatchObject({ row, missing: ['checkpoint'] });
    }
    // Its own repeat brings it back.
    await replace('"new"', 7);
    expect((await data.resolve(row)).missing).toEqual([]);
  });
});

describe('a row with pointers', () => {
  const put = (memory: { put(row: Row): void }, texts: Readonly<Record<string, unknown>>) => {
    for (const [key, data] of Object.entries(texts)) memory.put({ jobId: `j1#${key}`, data });
  };
  const row = { jobId: 'j1', payload: pointer('p1', { parts: 2 }), checkpoint: pointer('c1'), progress: '1' };

  it('costs no request where nothing is elsewhere, or everything is known', async () => {
    const { data, requests } = stage();
    const small = { jobId: 'j1', payload: '1' };
    expect(await data.resolve(small)).toEqual({ row: small, missing: [], expiring: [] });
    const known = new Map([['c1', '2']]);
    expect(await data.resolve(row, ['checkpoint'], known)).toEqual({
      row: { ...row, checkpoint: '2' },
      ...{ missing: [], expiring: [] },
    });
    expect(requests).toEqual([]);
  });

  it.each([
    ['of which a part is gone', { p1: '"on', c1: '2' }],
    ['of which a part is no text', { p1: '"on', 'p1~1': 7, c1: '2' }],
  ])('keeps a pointer %s, and tells so', async (_, texts) => {
    const { memory, data } = stage();
    put(memory, texts);
    expect(await data.resolve(row)).toEqual({
      row: { ...row, checkpoint: '2' },
      missing: ['payload'],
      expiring: [],
    });
  });
});
