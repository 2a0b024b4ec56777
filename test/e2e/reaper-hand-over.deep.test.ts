import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Table } from '../../lib/protocol/ports.ts';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import { recoveryBound } from '../../lib/settings/recovery-bound.ts';
import { LEADER_KEY } from '../../lib/wire/table.ts';
import { seededRandom } from '../support/random.ts';
import { type ReaperOnEngine, reaperOnEngine } from '../support/reaper-on-engine.ts';
import type { ReaperStage } from '../support/reaper-stage.ts';

/** The defaults, twenty times faster. */
const SCALE = 20;
const scaled = {
  leaseMs: 20_000 / SCALE,
  minLeaseMs: 10_000 / SCALE,
  skewMs: 2000 / SCALE,
  minSweepIntervalMs: 500 / SCALE,
  reaperIntervalMs: 60_000 / SCALE,
} as const;

const REAPERS = 5;
const WATCH_MS = 110_000 / SCALE;

/** What this machine adds to every wait just now: the slowest of many round trips, timer included. */
function gaugeMachine(table: Table) {
  let slowest = 0;
  let running = true;
  const done = (async () => {
    while (running) {
      const began = performance.now();
      await sleep(20);
      await table.read(LEADER_KEY);
      slowest = Math.max(slowest, performance.now() - began - 20);
    }
  })();
  return async () => {
    running = false;
    await done;
    return slowest;
  };
}

describe('reapers that follow one another', () => {
  let system: ReaperOnEngine;

  beforeEach(async () => {
    system = await reaperOnEngine();
  });
  afterEach(() => system.close());

  it('take every job back within the bound, at any jitter and through every hand-over', async () => {
    const random = seededRandom(7);
    const reapers: ReaperStage[] = [];
    const stops: Promise<unknown>[] = [];
    const worker = system.reaper({ name: 'worker', settings: scaled });
    const { settings } = worker;
    const stopGauge = gaugeMachine(worker.deps.table);
    let jobs = 0;
    for (let i = 1; i <= REAPERS; i++) {
      const reaper = system.reaper({ name: `reaper/${i}`, settings: scaled });
      reapers.push(reaper);
      const embedded = createEmbeddedReaper(reaper.deps);
      embedded.start();
      stops.push(sleep(WATCH_MS).then(() => embedded.stop()));
      // The next tick comes anywhere from at once to shortly before this reaper leaves; the last one sees the end.
      const nextTick = Date.now() + (i < REAPERS ? random.integer(0, WATCH_MS - 500) : settings.leaseMs);
      while (Date.now() < nextTick) {
        await worker.claim(`job-${jobs++}`, {
          leaseMs: random.integer(settings.minLeaseMs, settings.leaseMs),
        });
        await sleep(random.integer(10, 150));
      }
    }
    await expect
      .poll(() => reapers.reduce((sum, reaper) => sum + reaper.telemetry.total('JobsReclaimed'), 0))
      .toBe(jobs);
    await Promise.all(stops);
    const slowest = await stopGauge();

    const delays = reapers.flatMap((reaper) => reaper.telemetry.values('ReclaimDelay'));
    const { usualMs } = recoveryBound({ ...settings, leaseMs: 0 });
    // A sweep is a handful of round trips, one after the other; the bound allows for fast ones.
    expect(Math.max(...delays)).toBeLessThanOrEqual(usualMs + 8 * slowest);
    expect(jobs).toBeGreaterThan(20);
    expect(delays).toHaveLength(jobs);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(settings.skewMs);
    const leaders = reapers.filter((reaper) =>
      reaper.events.some(({ name }) => name === 'ReaperLeadershipChanged'),
    );
    expect(leaders.length).toBeGreaterThanOrEqual(3);
  });
});
