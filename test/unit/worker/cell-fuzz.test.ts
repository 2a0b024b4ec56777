import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunningJob } from '../../../lib/protocol/job.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import type { Kept, RunEnd } from '../../../lib/worker/cells/cells.ts';
import { createCellPool } from '../../../lib/worker/cells/host/cell-pool.ts';
import type { CellProcess } from '../../../lib/worker/cells/host/cell-process.ts';
import { createSharedMemory } from '../../../lib/worker/cells/shared-memory.ts';
import { createLeaseClock, readClock } from '../../../lib/worker/run/lease-clock.ts';
import { heapBytes } from '../../support/heap-bytes.ts';
import { silentTelemetry } from '../../support/silent-ports.ts';

const settings = resolveSettings({ maxCheckpointBytes: 1024, maxResultBytes: 1024 });
const READY = [{ kind: 'ready', types: [{ type: 'work' }] }];

/** A process that sends whatever the test makes it send. */
function puppet() {
  let onMessage: (heard: unknown) => void = () => {};
  const process: CellProcess = {
    pid: undefined,
    shared: createSharedMemory(heapBytes()),
    exitReport: () => undefined,
    send() {},
    end() {},
    memory: () => undefined,
    onMessage(listener) {
      onMessage = listener;
    },
    onExit() {},
    disconnected: new Promise(() => {}),
    forget() {},
  };
  return { process, send: (heard: unknown) => onMessage(heard) };
}

/** Two cells with a job in each. */
function stage() {
  const clock = createFakeClock();
  const puppets: ReturnType<typeof puppet>[] = [];
  const cells = createCellPool({
    ...{ clock, telemetry: silentTelemetry, settings, serviceName: 'test', source: 'test' },
    ...{ cells: 2, concurrency: 2, processors: 1, memoryBytes: 1, memoryForCells: () => 1 },
    timers: { every: () => () => {}, defer: (run) => run() },
    launch() {
      puppets.push(puppet());
      return (puppets.at(-1) as ReturnType<typeof puppet>).process;
    },
  });
  for (const { send } of [...puppets]) send(READY);
  const start = (jobId: string) => {
    const saved: Kept[] = [];
    const ends: RunEnd[] = [];
    let underWay = 0;
    const { end } = cells.start({
      job: { jobId, type: 'work', payload: '{}', attempt: 1 } as RunningJob,
      lease: createLeaseClock(clock, readClock(clock), 60_000),
      ...{ maxStallMs: 60_000, progressIntervalMs: 1000 },
      async save(kept) {
        underWay += 1;
        saved.push(kept);
        expect(underWay).toBe(1);
        await Promise.resolve();
        underWay -= 1;
        return 'written';
      },
      onProgress() {},
    });
    void end.then((ended) => ends.push(ended));
    return { saved, ends };
  };
  return { cells, puppets, mine: start('mine'), other: start('other') };
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
        const { cells, puppets, mine, other } = stage();
        for (const each of said) puppets[0]?.send(each);
        await new Promise((resolve) => setImmediate(resolve));
        expect(other.ends).toEqual([]);
        expect(other.saved).toEqual([]);
        for (const { checkpoint, progress } of mine.saved)
          for (const kept of [checkpoint, progress])
            if (kept !== undefined) expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(1024);
        for (const ended of mine.ends) expect(['returned', 'threw']).toContain(ended.kind);
        expect(cells.types()).toEqual(['work']);
        for (let run = 0; run <= 20; run++)
          puppets[1]?.send([{ kind: 'ended', run, end: { kind: 'returned', result: '"its own"' } }]);
        await new Promise((resolve) => setImmediate(resolve));
        expect(other.ends).toEqual([{ kind: 'returned', result: '"its own"' }]);
      }),
      { numRuns: 500 },
    );
  });

  it('stores nothing for a job that another cell has, and nothing twice at a time', async () => {
    const { puppets, mine, other } = stage();
    const saves = Array.from({ length: 20 }, (_, run) => ({ kind: 'save', run, checkpoint: '1' }));
    puppets[0]?.send([...saves, ...saves]);
    expect(mine.saved).toEqual([{ checkpoint: '1', progress: undefined }]);
    expect(other.saved).toEqual([]);
  });
});
