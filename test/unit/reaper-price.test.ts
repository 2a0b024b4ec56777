import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { planFor, type Workload } from '../../lib/cost/plan.ts';
import { listPrices } from '../../lib/cost/prices.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';

/** Long jobs that keep 8 shards busy. */
const workload: Workload = {
  rate: 30,
  durationMs: 1_000_000,
  payloadBytes: 200,
  checkpointBytes: 0,
  resultBytes: 100,
  checkpoints: 0,
  errorShare: 0,
  crashShare: 0,
  host: { kind: 'process' },
};

/** Dollars a month for the reaper alone. */
const priceOf = (watch: string): number =>
  planFor(workload, resolveSettings({ watch }), listPrices)
    .lines.filter((line) => line.what.startsWith('reaper'))
    .reduce((sum, line) => sum + line.dollars, 0);

describe('the price of a reaper', () => {
  it('counts the one that waits beside the one that watches', () => {
    const lambda = planFor(workload, resolveSettings({ watch: 'always' }), listPrices).lines.find(
      (line) => line.what === 'reaper (Lambda time)',
    );
    // 110 s of watching a minute, with a quarter of a GB.
    expect(lambda?.amount).toBeCloseTo((110 / 60) * 30.4375 * 86_400 * 0.25, 0);
  });

  it.each(['always', 'never'] as const)('is what the guarantees say for watch: %s', (watch) => {
    expect(planFor(workload, resolveSettings(), listPrices).shards).toBe(8);
    const page = readFileSync(new URL('../../docs/guarantees.md', import.meta.url), 'utf8');
    const row = page.split('\n').find((line) => line.startsWith(`| \`${watch}\``)) ?? '';
    const said = Number(/\$([\d.]+) \|$/.exec(row)?.[1]);
    expect(Math.abs(priceOf(watch) / said - 1)).toBeLessThan(0.1);
  });
});
