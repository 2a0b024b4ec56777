import { describe, expect, it } from 'vitest';
import type { RunningJob } from '../../../lib/protocol/job.ts';
import type { Table } from '../../../lib/protocol/ports.ts';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { attributeBytes, rowBytes } from '../../../lib/protocol/rows/row-bytes.ts';
import { createStoreParts } from '../../../lib/protocol/store/store-parts.ts';
import { tidyRow } from '../../../lib/protocol/store/tidy-row.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const DAY = 86_400_000;

/** A running row on a table, and what is written to it when it is tidied. */
function stage(over: Readonly<Record<string, unknown>>, on: Partial<Table> = {}) {
  const memory = createMemoryTable();
  const stored = row({ status: 'running', ...over });
  memory.put(stored);
  const writes: RowWrite[] = [];
  const reads: string[] = [];
  const table: Table = {
    ...memory,
    read: (key) => {
      reads.push(key);
      return memory.read(key);
    },
    apply: (write) => {
      writes.push(write);
      return (on.apply ?? memory.apply)(write);
    },
  };
  const parts = createStoreParts({
    ...{ table, clock: createHandClock(), chance: createHandChance(), settings, actor: 'w' },
  });
  const tidy = () => tidyRow(parts, parseJob(stored) as RunningJob, stored, stored);
  /** What became of each attribute that was touched. */
  const moved = async () => {
    const after = (await memory.read('j1')) ?? {};
    const names = new Set([...Object.keys(stored), ...Object.keys(after)]);
    names.delete('changedBy');
    return [...names].filter((name) => JSON.stringify(after[name]) !== JSON.stringify(stored[name])).sort();
  };
  const names = () => writes.map(({ transition }) => transition);
  const until = (days: number) =>
    Math.ceil((parts.clock.now() + settings.rowRetentionMs + days * DAY) / 1000);
  return { memory, parts, stored, tidy, moved, names, writes, reads, until };
}

/** An attribute of so many bytes, its name included. */
const sized = (name: string, bytes: number) => ({ [name]: 'x'.repeat(bytes - name.length) });
const json = (name: string, bytes: number) => ({ [name]: `"${'x'.repeat(bytes - name.length - 2)}"` });
const past = (attempt: number, cause = 'x'.repeat(50)) => ({
  ...{ attempt, owner: 'w/1', from: 1, to: 2, outcome: 'retried', cause },
});
/** As many bytes of something that is never moved as make the row this large. */
const filledTo = (bytes: number, over: Readonly<Record<string, unknown>>) => {
  const rest = bytes - rowBytes(row({ status: 'running', ...over }));
  return { ...over, ...sized('filler', rest) };
};

describe('a row that is claimed', () => {
  it('is left as it is up to a thousand bytes', async () => {
    const lastError = { in: 'e1', parts: 1, bytes: 500, until: 9e9, head: 'no' };
    const { tidy, names, stored, reads } = stage(filledTo(1_000, { ...json('payload', 200), lastError }));
    expect(await tidy()).toBe(stored);
    expect([names(), reads]).toEqual([[], []]);
  });

  it('has its payload moved where it is larger, and nothing else that need not be', async () => {
    const over = { ...json('payload', 300), ...json('checkpoint', 200) };
    const { tidy, moved, writes, memory } = stage(filledTo(1_001, over));
    const after = await tidy();
    expect(await moved()).toEqual(['payload']);
    expect(writes).toMatchObject([{ transition: 'putData' }, { transition: 'tidy', remove: [] }]);
    expect(after).toEqual(await memory.read('j1'));
  });

  it('has a second text moved where the first was not enough, to the byte', async () => {
    const at = async (size: number) => {
      const { tidy, moved } = stage(filledTo(size, { ...json('payload', 200), ...json('checkpoint', 200) }));
      return { bytes: rowBytes(await tidy()), names: await moved() };
    };
    const freed = 1_001 - (await at(1_001)).bytes;
    expect(await at(1_000 + freed)).toEqual({ bytes: 1_000, names: ['payload'] });
    expect((await at(1_001 + freed)).names).toEqual(['checkpoint', 'payload']);
  });

  it('has as much as is there moved: payload, checkpoint, progress, and the last error', async () => {
    const { tidy, writes } = stage({
      ...{ ...json('payload', 900), ...json('checkpoint', 900), ...json('progress', 900) },
      ...sized('lastError', 900),
      filler: 'x'.repeat(900),
    });
    await tidy();
    expect(writes.map(({ jobId }) => jobId.slice(0, 4))).toEqual(['j1#p', 'j1#c', 'j1#g', 'j1#e', 'j1']);
  });

  it('keeps texts that a pointer would hardly make smaller', async () => {
    const over = { ...json('payload', 149), ...json('checkpoint', 150), ...json('progress', 149) };
    const { tidy, moved } = stage(filledTo(1_300, over));
    await tidy();
    expect(await moved()).toEqual(['checkpoint']);
  });

  it('keeps an error that was moved before, however much of it is there', async () => {
    const lastError = { in: 'e1', parts: 1, bytes: 500, until: 9e9, head: 'x'.repeat(160) };
    const { tidy, moved } = stage(filledTo(1_900, { ...json('payload', 300), lastError }));
    await tidy();
    expect(await moved()).toEqual(['payload']);
  });

  it('is not written where nothing could be moved', async () => {
    const { tidy, names, stored } = stage(filledTo(1_300, json('payload', 149)));
    expect(await tidy()).toBe(stored);
    expect(names()).toEqual([]);
  });

  it('is written only where no checkpoint came since', async () => {
    const { tidy, writes } = stage(filledTo(1_300, { ...json('payload', 300), checkpointSeq: 7 }));
    await tidy();
    expect(writes.at(-1)?.when[0]).toContainEqual({ attribute: 'checkpointSeq', is: 'equal', value: 7 });
  });

  it.each<[string, Partial<Table>]>([
    ['is refused', { apply: async () => ({ applied: false, row: undefined }) }],
    ['fails', { apply: () => Promise.reject(new Error('no reply')) }],
  ])('stays as it is where the write %s', async (_, on) => {
    const { tidy, stored } = stage(filledTo(1_300, json('payload', 300)), on);
    expect(await tidy()).toBe(stored);
  });
});

describe('the entries of past claims', () => {
  const large = { claim01: past(1), claim02: past(2) };

  it('are moved first, all of them, with those that were moved before', async () => {
    const history = { in: 'h1', parts: 1, bytes: 200, until: 9e9 };
    const others = { claim001: 'not ours', xclaim01: 'nor this' };
    const over = filledTo(1_100, { ...json('payload', 200), ...large, ...others, history, attempt: 3 });
    const { memory, tidy, moved, writes } = stage(over);
    memory.put({ jobId: 'j1#h1', data: JSON.stringify([past(0, 'older')]) });
    await tidy();
    expect(await moved()).toEqual(['claim01', 'claim02', 'history']);
    expect(writes[0]?.jobId).toMatch(/^j1#h3\.u\d+$/);
    expect(JSON.parse(String(writes[0]?.set.data))).toEqual([past(0, 'older'), past(1), past(2)]);
  });

  it('stay where they are few, or the row is small', async () => {
    const few = { claim01: past(1, ''), ...json('payload', 300) };
    const crowded = stage(filledTo(1_300, few));
    await crowded.tidy();
    expect(await crowded.moved()).toEqual(['payload']);
    const small = stage(filledTo(1_000, large));
    await small.tidy();
    expect(await small.moved()).toEqual([]);
  });

  it('are moved from 151 bytes on', async () => {
    const entry = (bytes: number) => {
      const bare = attributeBytes('claim01', past(1, ''));
      return { claim01: past(1, 'x'.repeat(bytes - bare)) };
    };
    for (const [bytes, expected] of [
      [150, []],
      [151, ['claim01', 'history']],
    ] as const) {
      const { tidy, moved } = stage(filledTo(1_300, entry(bytes)));
      await tidy();
      expect(await moved()).toEqual(expected);
    }
  });

  it('leave a row that fits, the pointer to them included', async () => {
    for (let size = 1_001; size < 1_400; size += 7) {
      const { memory, tidy } = stage(filledTo(size, { ...large, ...json('payload', 300) }));
      await tidy();
      expect(rowBytes((await memory.read('j1')) as Row)).toBeLessThanOrEqual(1_000);
    }
  });
});

describe('data that could expire', () => {
  it('is copied, and what lives long enough is not', async () => {
    const { until } = stage({});
    const pointer = (place: string, days: number) => ({ in: place, parts: 1, bytes: 3, until: until(days) });
    const { memory, tidy, names, moved, writes } = stage({
      ...{
        attempt: 4,
        payload: pointer('p1', 14),
        checkpoint: pointer('c1', 16),
        progress: pointer('g1', 1),
      },
    });
    for (const key of ['p1', 'c1', 'g1']) memory.put({ jobId: `j1#${key}`, data: `"${key}"` });
    const after = await tidy();
    expect(names()).toEqual(['putData', 'putData', 'tidy']);
    expect(writes.slice(0, 2)).toMatchObject([
      { jobId: expect.stringMatching(/^j1#p4\.u\d+$/), set: { data: '"p1"' } },
      { jobId: expect.stringMatching(/^j1#g4\.u\d+$/), set: { data: '"g1"' } },
    ]);
    expect(await moved()).toEqual(['payload', 'progress']);
    expect(after.payload).toMatchObject({ until: until(30) });
  });

  it('is copied though other data is gone', async () => {
    const pointer = (place: string) => ({ in: place, parts: 1, bytes: 3, until: 9 });
    const { memory, tidy, moved } = stage({ payload: pointer('p1'), progress: pointer('g1') });
    memory.put({ jobId: 'j1#g1', data: '"g1"' });
    await tidy();
    expect(await moved()).toEqual(['progress']);
  });

  it('that is gone already is left, and so is the row', async () => {
    const { tidy, names, stored } = stage({ payload: { in: 'p1', parts: 1, bytes: 3, until: 9 } });
    expect(await tidy()).toBe(stored);
    expect(names()).toEqual([]);
  });
});
