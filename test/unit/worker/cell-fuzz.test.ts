import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import type { Kept } from '../../../lib/worker/cells/cells.ts';
import { fuzzRuns } from '../../support/fuzz-runs.ts';
import { puppetPool } from '../../support/puppet-pool.ts';

const settings = resolveSettings({ maxCheckpointBytes: 1024, maxResultBytes: 1024 });

/** Two cells with a job in each. */
function stage() {
  const pool = puppetPool({ settings, cells: 2, concurrency: 2, memoryBytes: 1, memoryForCells: () => 1 });
  pool.ready(0, 1);
  const start = (jobId: string) => {
    const saved: Kept[] = [];
    let underWay = 0;
    const { ends } = pool.start(jobId, {
      async save(kept) {
        underWay += 1;
        saved.push(kept);
        expect(underWay).toBe(1);
        await Promise.resolve();
        underWay -= 1;
        return 'written';
      },
    });
    return { saved, ends };
  };
  const [mine, other] = [start('mine'), start('other')];
  return { ...pool, mine, other };
}

const number = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.anything());
const text = fc.oneof(fc.string(), fc.string({ minLength: 1020, maxLength: 1100 }), fc.anything());
const end = fc.oneof(
  fc.record({ kind: fc.constantFrom('returned', 'threw', 'died'), result: text, error: fc.anything() }),
  fc.anything(),
);
const message = fc.record(
  {
    kind: fc.constantFrom('ready', 'ended', 'unstarted', 'save', 'flushed', 'other'),
    ...{ run: number, turn: number, end, checkpoint: text, progress: text, text },
    types: fc.oneof(
      fc.anything(),
      fc.array(fc.record({ type: text, lease: fc.anything(), backoff: fc.anything() })),
    ),
  },
  { requiredKeys: ['kind'] },
);
const hostile = fc.array(fc.oneof(fc.array(message, { maxLength: 5 }), fc.anything()), { maxLength: 8 });

describe('whatever a cell says', () => {
  it('never throws in its host, touches no other cell’s job, and stores only what a row may keep', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (said) => {
        const { cells, at, mine, other } = stage();
        for (const each of said) at(0).sendAnything(each);
        await new Promise((resolve) => setImmediate(resolve));
        expect(other.ends).toEqual([]);
        expect(other.saved).toEqual([]);
        for (const { checkpoint, progress } of mine.saved)
          for (const kept of [checkpoint, progress])
            if (kept !== undefined) expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(1024);
        for (const ended of mine.ends) expect(['returned', 'threw']).toContain(ended.kind);
        expect(cells.types()).toEqual(['work']);
        for (let run = 0; run <= 20; run++)
          at(1).send({ kind: 'ended', run, end: { kind: 'returned', result: '"its own"' } });
        await new Promise((resolve) => setImmediate(resolve));
        expect(other.ends).toEqual([{ kind: 'returned', result: '"its own"' }]);
      }),
      fuzzRuns(300),
    );
  });

  it('stores nothing for a job that another cell has, and nothing twice at a time', async () => {
    const { at, mine, other } = stage();
    const saves = Array.from({ length: 20 }, (_, run) => ({ kind: 'save', run, checkpoint: '1' }));
    at(0).sendAnything([...saves, ...saves]);
    expect(mine.saved).toEqual([{ checkpoint: '1', progress: undefined }]);
    expect(other.saved).toEqual([]);
  });
});
