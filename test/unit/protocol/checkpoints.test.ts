import { describe, expect, it } from 'vitest';
import type { Claim, FoundRow } from '../../../lib/protocol/job.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import type { RowWrite, WriteResult } from '../../../lib/protocol/writes/row-write.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const found: FoundRow = {
  ...{ bytes: 550, checkpoint: '"page 1"', checkpointBytes: 18, progressBytes: 0 },
  ...{ crashes: 2, releases: 3, excuses: 0, expiresSoon: false },
};
const bare: Claim = { jobId: 'j1', owner: 'w/1', attempt: 1, startedAt: 60_000 };

/** A running job of worker `w/1`; the test may stand in for the reply to a write. */
function stage(reply: (write: RowWrite) => WriteResult | undefined = () => undefined) {
  const memory = createMemoryTable();
  memory.put(row({ status: 'running', crashes: 2, releases: 3, excuses: 1 }));
  const writes: RowWrite[] = [];
  const store = createJobStore({
    table: {
      ...memory,
      apply: async (write) => {
        writes.push(write);
        return reply(write) ?? memory.apply(write);
      },
    },
    ...{ clock: createHandClock(), chance: createHandChance(), settings, actor: 'w' },
  });
  /** The rows that texts went to, without what is unique about each pair. */
  const places = () => {
    const pairs: string[] = [];
    return writes.flatMap(({ transition, jobId }) => {
      if (transition !== 'replaceData') return [];
      const [pair = '', slot] = jobId.split(/\.(?=[01]$)/);
      if (!pairs.includes(pair)) pairs.push(pair);
      return [`${pairs.indexOf(pair)}.${slot}`];
    });
  };
  const names = () => writes.map(({ transition }) => transition);
  return { memory, store, writes, names, places };
}

const text = (bytes: number) => 'x'.repeat(bytes - 2);
const large = text(3_000);

describe('a checkpoint', () => {
  it('stays on the row where there is room, beside what was kept before', async () => {
    const { store, names } = stage();
    await store.checkpoint(bare, { seq: 1, checkpoint: text(300) });
    await store.checkpoint(bare, { seq: 2, progress: text(100) });
    expect(names()).toEqual(['checkpoint', 'checkpoint']);
    // 550 and 310 bytes are taken, which leaves 140: eight for the name.
    await store.checkpoint(bare, { seq: 3, progress: text(132) });
    await store.checkpoint(bare, { seq: 4, progress: text(133) });
    expect(names().slice(2)).toEqual(['checkpoint', 'replaceData', 'checkpoint']);
  });

  it('names its claim’s attempt and its kind in the place that it takes', async () => {
    const { memory, store, writes } = stage();
    await store.checkpoint(bare, { seq: 1, checkpoint: large, progress: large });
    expect(writes.map(({ jobId }) => jobId)).toEqual([
      expect.stringMatching(/^j1#c1\.u\d\.0$/),
      expect.stringMatching(/^j1#g1\.u\d\.0$/),
      'j1',
    ]);
    expect(writes[0]).toMatchObject({ set: { data: JSON.stringify(large), seq: 1 } });
    expect(await memory.read('j1')).toMatchObject({
      checkpoint: { bytes: 3_000 },
      progress: { bytes: 3_000 },
    });
  });

  it('takes two places in turn, whatever was kept on the row in between', async () => {
    const { store, places } = stage();
    for (const [i, checkpoint] of [large, large, 'small', large].entries())
      await store.checkpoint(bare, { seq: i + 1, checkpoint });
    expect(places()).toEqual(['0.0', '0.1', '0.0']);
  });

  it('takes a new pair of places after a reply that never came', async () => {
    let isLost = false;
    const { store, places } = stage((write) => {
      if (isLost && write.transition === 'checkpoint') throw new Error('no reply');
      return undefined;
    });
    await store.checkpoint(bare, { seq: 1, checkpoint: large });
    isLost = true;
    await expect(store.checkpoint(bare, { seq: 2, checkpoint: large })).rejects.toThrow('no reply');
    isLost = false;
    await store.checkpoint(bare, { seq: 3, checkpoint: large });
    expect(places()).toEqual(['0.0', '0.1', '1.0']);
  });

  it('that was refused takes up no room on the row, and its place is forgotten', async () => {
    let isRefused = true;
    const { store, places, names } = stage((write) =>
      isRefused && write.transition === 'checkpoint'
        ? { applied: false, row: row({ status: 'pending' }) }
        : undefined,
    );
    expect(await store.checkpoint(bare, { seq: 1, checkpoint: text(300) })).toMatchObject({
      outcome: 'lost',
    });
    expect(await store.checkpoint(bare, { seq: 2, checkpoint: large })).toMatchObject({ outcome: 'lost' });
    isRefused = false;
    await store.checkpoint(bare, { seq: 3, progress: text(400) });
    expect(names()).toEqual(['checkpoint', 'replaceData', 'checkpoint', 'checkpoint']);
    await store.checkpoint(bare, { seq: 4, checkpoint: large });
    expect(places()).toEqual(['0.0', '1.0']);
  });
});

describe('the first checkpoint that differs from what its claim found', () => {
  const forgiven = { outcome: 'written', counts: { crashes: 0, releases: 5 } };
  const written = { outcome: 'written', counts: undefined };
  const claim = (over: Partial<FoundRow> = {}): Claim => ({ ...bare, found: { ...found, ...over } });

  it('turns crashes into releases, once', async () => {
    const { memory, store } = stage();
    const mine = claim();
    expect(await store.checkpoint(mine, { seq: 1, checkpoint: 'page 1' })).toEqual(written);
    expect(await store.checkpoint(mine, { seq: 2, progress: 'half' })).toEqual(written);
    expect(await memory.read('j1')).toMatchObject({ crashes: 2, releases: 3, excuses: 1 });
    expect(await store.checkpoint(mine, { seq: 3, checkpoint: 'page 2' })).toEqual(forgiven);
    expect(await memory.read('j1')).toMatchObject({ crashes: 0, releases: 5 });
    expect(await memory.read('j1')).not.toHaveProperty('excuses');
    expect(await store.checkpoint(mine, { seq: 4, checkpoint: 'page 3' })).toEqual(written);
  });

  it('forgets excuses, too, where there were no crashes', async () => {
    const { store } = stage();
    expect(
      await store.checkpoint(claim({ crashes: 0, excuses: 1 }), { seq: 1, checkpoint: 'page 2' }),
    ).toEqual({
      ...{ outcome: 'written', counts: { crashes: 0, releases: 3 } },
    });
  });

  it('forgives as many crashes as there were excuses', async () => {
    const { store } = stage();
    expect(await store.checkpoint(claim({ excuses: 2 }), { seq: 1, checkpoint: 'page 2' })).toEqual(forgiven);
  });

  it.each([
    ['found neither crashes nor excuses', claim({ crashes: 0 })],
    ['does not know what it found', bare],
  ])('changes no counts for a claim that %s', async (_, mine) => {
    const { store } = stage();
    expect(await store.checkpoint(mine, { seq: 1, checkpoint: 'page 2' })).toEqual(written);
  });

  it('forgives again as long as it was not written', async () => {
    let isRefused = true;
    const { store } = stage(() => (isRefused ? { applied: false, row: undefined } : undefined));
    const mine = claim();
    expect(await store.checkpoint(mine, { seq: 1, checkpoint: 'page 2' })).toEqual({ outcome: 'lost' });
    isRefused = false;
    expect(await store.checkpoint(mine, { seq: 2, checkpoint: 'page 2' })).toEqual(forgiven);
  });
});
