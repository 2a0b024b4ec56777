import { expect, it } from 'vitest';
import { sweep } from '../../../lib/reaper/sweep.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { reaperStage } from '../../support/reaper-stage.ts';

it('rows of a newer version are left alone, counted and named; others are reclaimed', async () => {
  const clock = createFakeClock();
  const table = createMemoryTable();
  const { deps, claim, settings, telemetry, hints } = reaperStage({ table, clock });
  for (const jobId of ['newer', 'ours']) await claim(jobId);
  table.put({ ...(await table.read('newer')), jobId: 'newer', format: 3 });
  const before = await table.read('newer');
  await clock.advance(settings.leaseMs + settings.skewMs);
  expect(await sweep(deps)).toMatchObject({
    ...{ reclaimed: 1, skipped: { newer: 1, unwritten: 0 }, complete: true, inTrouble: false },
  });
  expect(telemetry.total('RowsTooNew')).toBe(1);
  // By which the alarm of the table goes off.
  expect(telemetry.total('StoreFailures')).toBe(1);
  expect(telemetry.lines.filter(({ message }) => message === 'job left alone')).toMatchObject([
    { level: 'error', fields: { jobId: 'newer' } },
  ]);
  expect(hints.map(({ jobId }) => jobId)).toEqual(['ours']);
  expect(await table.read('newer')).toEqual(before);
});
