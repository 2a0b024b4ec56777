import { describe, expect, it } from 'vitest';
import { planDispatch, planPark } from '../../../lib/protocol/decisions/dispatch.ts';
import { changeControl, createControlReader, type KnownTypes } from '../../../lib/protocol/limits/control.ts';
import type { Table } from '../../../lib/protocol/ports.ts';
import { isNewPeriod } from '../../../lib/reaper/gauge-waiting.ts';
import { reap } from '../../../lib/reaper/reap.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { limitGroup, pauseGroups } from '../../../lib/wire/limits.ts';
import { newJob } from '../../support/jobs.ts';
import { keptGauges } from '../../support/kept-gauges.ts';
import { reapStage } from '../../support/reap-stage.ts';

const SHARDS = 2;
const LIMITED: KnownTypes = new Map([['render', { perKey: 1 }]]);

/** Whole sweeps; `requests` counts them by kind, beyond the claims and parks of the test itself. */
function scene({ change }: { readonly change?: (table: Table) => Partial<Table> } = {}) {
  const memory = createMemoryTable();
  const clock = createFakeClock();
  const requests: Record<string, number> = {};
  const counted = new Proxy(
    { ...memory, ...change?.(memory) },
    {
      get(target, name: keyof Table) {
        requests[name] = (requests[name] ?? 0) + 1;
        return target[name];
      },
    },
  );
  const { telemetry, byType } = keptGauges();
  const stage = reapStage({
    table: counted,
    clock,
    settings: { shards: SHARDS },
    more: { telemetry, wakeQueue: undefined },
  });
  const { store, settings } = stage;
  const park = (jobId: string, waitsFor: string, type = 'render') =>
    store.schedule(newJob(jobId, { type }), planPark(clock.now(), { waitsFor }, settings), { waitsFor });
  return {
    ...{ clock, telemetry, byType, park, requests },
    declare: (types: KnownTypes) => createControlReader({ table: memory, clock }).declare(types),
    pause: (type: string) =>
      changeControl(memory, { map: 'paused', key: type, value: clock.now(), by: 'operator/1' }),
    wait: (jobId: string) =>
      store.schedule(newJob(jobId), planDispatch(clock.now(), clock.now() + 60_000, settings)),
    async sweep() {
      for (const each of Object.keys(requests)) delete requests[each];
      byType.length = 0;
      const done = reap(
        stage.deps,
        { kind: 'timer', name: stage.deps.name },
        { deadlineAt: clock.now() + 1000 },
      );
      await clock.advance(0);
      return done;
    },
  };
}

describe('the gauge of waiting jobs', () => {
  it('counts parked jobs by type, not by key, with the wait of the oldest', async () => {
    const { declare, park, clock, sweep, byType, telemetry } = scene();
    await declare(LIMITED);
    for (let n = 0; n < 30; n++) {
      await park(`job-${n}`, limitGroup('render', `tenant-${n}`));
      await clock.advance(1000);
    }
    await sweep();
    expect(byType).toEqual([
      ['JobsWaiting', 'render', 30],
      ['OldestWait', 'render', 30_000],
    ]);
    expect(telemetry.values('TypesPaused')).toEqual([]);
  });

  it('counts paused types, and jobs that wait for one', async () => {
    const { declare, pause, park, sweep, byType, telemetry } = scene();
    await declare(new Map([['mail', undefined]]));
    await pause('mail');
    await pause('sync');
    await park('a', pauseGroups('mail')[3] as string, 'mail');
    await sweep();
    expect(telemetry.values('TypesPaused')).toEqual([2]);
    expect(byType).toEqual([
      ['JobsWaiting', 'mail', 1],
      ['OldestWait', 'mail', 0],
    ]);
  });

  it('asks and tells nothing where no job is parked', async () => {
    const { declare, pause, wait, sweep, byType, telemetry, requests } = scene();
    await declare(LIMITED);
    await pause('mail');
    for (let n = 0; n < 12; n++) await wait(`waiting-${n}`);
    await sweep();
    expect(requests).toEqual({ read: 1, query: 2 * SHARDS, apply: 1 });
    expect([byType, telemetry.values('TypesPaused')]).toEqual([[], []]);
  });

  it('is taken once in 5 minutes', async () => {
    const { declare, park, clock, sweep, byType } = scene();
    await declare(LIMITED);
    await park('a', limitGroup('render', 'tenant-1'));
    const counts: number[] = [];
    for (let minute = 0; minute < 10; minute++) {
      await sweep();
      counts.push(byType.length);
      await clock.advance(60_000);
    }
    expect(counts.filter((count) => count > 0)).toHaveLength(2);
    expect([isNewPeriod(299_999, 300_000), isNewPeriod(300_000, 599_999)]).toEqual([true, false]);
  });

  it('may fail without disturbing the sweep', async () => {
    const { declare, park, sweep, telemetry } = scene({
      change: (table) => ({
        query: (request) =>
          request.limit > 500 ? Promise.reject(new Error('no answer')) : table.query(request),
      }),
    });
    await declare(LIMITED);
    await park('a', limitGroup('render', 'tenant-1'));
    expect(await sweep()).toMatchObject({ ended: 'swept' });
    expect(telemetry.lines).toContainEqual(
      expect.objectContaining({ message: 'waiting jobs could not be counted' }),
    );
  });
});
