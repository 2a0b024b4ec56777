import { describe, expect, it, vi } from 'vitest';
import { middy } from '../../lib/aws/lambda/middy.ts';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { LOG_LINE_BYTES } from '../../lib/tools/plan/operations-bill.ts';
import { planFor, type Workload } from '../../lib/tools/plan/plan.ts';
import type { PoolLoad } from '../../lib/tools/plan/pool-bill.ts';
import { listPrices } from '../../lib/tools/plan/prices.ts';
import { lambdaContext } from '../support/invoke.ts';

const MILLION_A_MONTH = 1e6 / (30.4375 * 86_400);
const short: Workload = {
  ...{ rate: MILLION_A_MONTH, durationMs: 100, payloadBytes: 200, resultBytes: 64, checkpointBytes: 0 },
  ...{ checkpoints: 0, errorShare: 0, crashShare: 0, host: { kind: 'lambda', memoryMb: 512 } },
};
const bill = (workload: Workload, settings = {}) =>
  planFor(workload, resolveSettings(settings), listPrices)
    .lines.filter(({ group }) => group !== 'compute')
    .reduce((sum, { dollars }) => sum + dollars, 0);
const IDLE = { ...short, rate: 0 };
/** What one more million of jobs adds, besides compute. */
const perMillion = (workload: Workload, settings = {}) =>
  bill({ ...workload, rate: 2 * workload.rate }, settings) - bill(workload, settings);

describe('the bill of a month, without free tiers', () => {
  it('is at most $3 for a system that does nothing, alarms and all', () => {
    expect(bill(IDLE)).toBeLessThanOrEqual(3);
    expect(bill(IDLE)).toBeGreaterThan(2);
  });

  it.each([
    ['one at a time on Lambda', short, {}, 4.5],
    ['in batches of ten on Lambda', short, { batchSize: 10 }, 3.6],
    ['in a process', { ...short, host: { kind: 'process' } } as Workload, {}, 3.4],
  ])('is bounded for a million short jobs %s, besides compute', (_, workload, settings, dollars) => {
    expect(perMillion(workload, settings)).toBeLessThanOrEqual(dollars);
    expect(perMillion(workload, settings)).toBeGreaterThan(dollars - 0.4);
  });
});

describe('the bill of pools', () => {
  const linesOf = (pools: PoolLoad, workload: Workload = IDLE) => {
    const without = planFor(workload, resolveSettings(), listPrices).lines.map(({ what }) => what);
    const { lines } = planFor(workload, resolveSettings(), listPrices, { pools });
    return new Map(
      lines.filter(({ what }) => !without.includes(what)).map(({ what, dollars }) => [what, dollars]),
    );
  };
  const busy = (running: number) => ({ ...short, rate: running, durationMs: 1000 });

  it('is alarms and idle polls for a pool of functions', () => {
    const lines = linesOf({ functions: 2, containerHours: [] });
    expect([...lines.keys()]).toEqual(['alarms of pools', 'idle polls of pools']);
    expect(lines.get('alarms of pools')).toBeCloseTo(0.6, 5);
    expect(lines.get('idle polls of pools')).toBeCloseTo(0.53, 2);
  });

  it('is hours, alarms, a metric and two counts of the reaper for a pool of containers', () => {
    const lines = linesOf({ functions: 0, containerHours: [1000] });
    expect(lines.get('containers (Fargate)')).toBeCloseTo(49.37, 2);
    expect(lines.get('alarms of pools')).toBeCloseTo(0.5, 5);
    expect(lines.get('containers wanted')).toBeCloseTo(0.3, 5);
    expect(lines.get('reaper: queues of pools')).toBeCloseTo(0.02, 2);
    expect(lines.size).toBe(5);
  });

  it('has a reaper that reads running jobs once for all pools, $0.02 to $1.31 a month', () => {
    const dollarsOf = (running: number, pools: number) =>
      linesOf({ functions: 0, containerHours: Array(pools).fill(1) }, busy(running)).get(
        'reaper: running jobs of pools',
      );
    expect(dollarsOf(0, 1)).toBeCloseTo(0.02, 2);
    expect(dollarsOf(8000, 1)).toBeCloseTo(1.31, 2);
    expect(dollarsOf(8000, 5)).toBe(dollarsOf(8000, 1));
  });
});

describe('what a job leaves in the log', () => {
  it('is as long as the bill says', async () => {
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'INFO');
    const written: string[] = [];
    for (const name of ['log', 'info'] as const)
      vi.spyOn(console, name).mockImplementation((line: string) => void written.push(line));
    const telemetry = createPowertoolsTelemetry({ serviceName: 'Leasehold-Jobs', metricsByType: true });
    const invoke = middy()
      .use(telemetry.middleware)
      .handler(() => {
        const name = { jobId: crypto.randomUUID(), type: 'send-invoice', attempt: 1 };
        telemetry.info('run ended', { ...name, outcome: 'done', durationMs: 104 });
        telemetry.count('JobsClaimed');
        telemetry.count('JobsDone');
        telemetry.timeOfType?.('WaitTime', 'send-invoice', 51);
        telemetry.timeOfType?.('RunTime', 'send-invoice', 104);
      });
    await invoke({}, { ...lambdaContext(), awsRequestId: crypto.randomUUID() });
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    // Powertools indents what it writes while POWERTOOLS_DEV is set.
    const [line = '', ofType = '', emf = ''] = written.map((text) => JSON.stringify(JSON.parse(text)));
    const near = (bytes: number, told: number) => Math.abs(bytes + 26 - told) < 0.12 * told;
    expect(near(Buffer.byteLength(line), LOG_LINE_BYTES.job), `${line.length} bytes`).toBe(true);
    expect(near(Buffer.byteLength(ofType), LOG_LINE_BYTES.type), `${ofType.length} bytes`).toBe(true);
    expect(near(Buffer.byteLength(emf), LOG_LINE_BYTES.invocation), `${emf.length} bytes`).toBe(true);
  });
});
