import { describe, expect, it } from 'vitest';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { LEADER_KEY } from '../../lib/wire/table.ts';
import { reaperStage } from '../support/reaper-stage.ts';

const stage = (settings: Readonly<Record<string, unknown>> = {}) => {
  const table = createMemoryTable();
  const clock = createHandClock();
  const set = reaperStage({ table, clock, settings });
  return { ...set, clock, table, reaper: createEmbeddedReaper(set.deps) };
};

describe('a reaper inside a process', () => {
  it('takes jobs back for as long as it runs, window after window', async () => {
    const { reaper, clock, claim, store, telemetry } = stage();
    reaper.start();
    for (let i = 1; i <= 20; i++) {
      await clock.advance(25_000);
      await claim(`job-${i}`);
    }
    await clock.advance(120_000);
    expect(telemetry.total('JobsReclaimed')).toBe(20);
    expect(await store.read('job-20')).toMatchObject({ status: 'pending' });
    const stopping = reaper.stop();
    await clock.advance(0);
    await stopping;
  });

  it('leaves no timer behind and gives up the lead when it is stopped', async () => {
    const { reaper, clock, claim, table } = stage();
    await claim('job');
    reaper.start();
    await clock.advance(1000);
    const leader = () => table.rows().find((row) => row.jobId === LEADER_KEY);
    expect(leader()?.leaderUntil).toBeGreaterThan(clock.now());
    expect(clock.sleepers).toBe(1);
    await reaper.stop();
    expect(clock.sleepers).toBe(0);
    expect(leader()).toMatchObject({ leaderUntil: 0 });
    await clock.advance(600_000);
    expect(table.rows().find((row) => row.jobId === 'job')).toMatchObject({ status: 'running' });
  });

  it('can be started once only, and again after it was stopped', async () => {
    const { reaper, clock, claim, store } = stage();
    reaper.start();
    reaper.start();
    await clock.advance(1000);
    expect(clock.sleepers).toBe(1);
    await reaper.stop();
    await reaper.stop();
    await claim('job');
    reaper.start();
    await clock.advance(0);
    await clock.advance(32_000);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
    await reaper.stop();
  });

  it('starts again when a watch fails', async () => {
    const { deps, clock, claim, store, telemetry } = stage();
    let failures = 1;
    const flush = () => {
      if (failures-- > 0) throw new Error('no standard output');
    };
    const reaper = createEmbeddedReaper({ ...deps, flush });
    reaper.start();
    await clock.advance(0);
    await claim('job');
    await clock.advance(120_000);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
    expect(telemetry.lines.map((line) => line.message)).toContain('reaper failed; it starts again');
    await reaper.stop();
  });

  it('sweeps nothing, and says so, when it is switched off', async () => {
    const { reaper, clock, claim, telemetry, table } = stage({ reaperEnabled: false });
    await claim('job');
    reaper.start();
    await clock.advance(600_000);
    expect(table.rows()).toEqual([expect.objectContaining({ jobId: 'job', status: 'running' })]);
    expect(telemetry.lines).toEqual([
      expect.objectContaining({ message: 'reaper is switched off: nothing is swept' }),
    ]);
    expect(clock.sleepers).toBe(0);
    await reaper.stop();
  });
});
