import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { listPrices } from '../../../lib/tools/plan/prices.ts';
import { reaperBill, sweepsAMinute } from '../../../lib/tools/plan/reaper-bill.ts';
import { LEADER_KEY } from '../../../lib/wire/table.ts';
import { reapStage } from '../../support/reap-stage.ts';
import { beat } from '../../support/reaper-stage.ts';

const MINUTES = 30;

/** Half an hour of the chain, with its requests counted: jobs that beat every five seconds, or none. */
async function countRequests(jobs: number) {
  const memory = createMemoryTable();
  const clock = createFakeClock();
  const counts = { read: 0, query: 0, apply: 0 };
  const chain = reapStage({
    clock,
    settings: { shards: 8 },
    // What SQS takes to deliver.
    delivery: () => [300],
    table: {
      ...memory,
      read: (jobId) => {
        counts.read++;
        return memory.read(jobId);
      },
      query: (request) => {
        counts.query++;
        return memory.query(request);
      },
      apply: (write) => {
        if (write.jobId === LEADER_KEY) counts.apply++;
        return memory.apply(write);
      },
    },
  });
  const running = [];
  for (let n = 0; n < jobs; n++) {
    running.push(await chain.claim(`job-${n}`));
    await clock.advance(200);
  }
  for (let second = 0; second < MINUTES * 60; second++) {
    if (second % 60 === 0) void chain.tick();
    // A fifth of the jobs each second.
    for (const job of running.filter((_, n) => n % 5 === second % 5))
      await beat(chain.store, job, clock.now());
    await clock.advance(1000);
  }
  expect(chain.telemetry.total('JobsReclaimed')).toBe(0);
  return { ...counts, messages: chain.sent.length, sweeps: chain.sweeps() };
}

describe('the bill of the reaper', () => {
  it.each([
    ['idle', 0],
    ['busy', 50],
  ])('follows from requests as they are counted: %s', async (_, jobs) => {
    const settings = resolveSettings();
    const counted = await countRequests(jobs);
    const { wakes, ticks } = sweepsAMinute(settings, jobs > 0);
    const near = (value: number) => Math.abs(value - 1) < 0.08;
    expect(near(counted.sweeps / MINUTES / (wakes + ticks))).toBe(true);
    expect(near(counted.messages / MINUTES / wakes)).toBe(true);
    const bill = reaperBill(8, settings, jobs > 0, listPrices);
    const perMonth = (30.4375 * 1440) / MINUTES;
    const amount = (what: string) => bill.find((line) => line.what === `reaper: ${what}`)?.amount ?? 0;
    expect(near((perMonth * (counted.read + counted.query / 2)) / amount('index and row reads'))).toBe(true);
    expect(near((perMonth * counted.apply) / amount('row writes'))).toBe(true);
    expect(near((perMonth * 3 * counted.messages) / amount('wake messages'))).toBe(true);
  });

  it.each([false, true])('is below a dollar a month (busy: %s)', (isBusy) => {
    const dollars = reaperBill(8, resolveSettings(), isBusy, listPrices).reduce(
      (sum, line) => sum + line.dollars,
      0,
    );
    expect(dollars).toBeLessThan(1);
    expect(dollars).toBeGreaterThan(0.3);
  });
});
