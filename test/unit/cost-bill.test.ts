import { describe, expect, it, vi } from 'vitest';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { LOG_LINE_BYTES } from '../../lib/tools/plan/operations-bill.ts';
import { planFor, type Workload } from '../../lib/tools/plan/plan.ts';
import { listPrices } from '../../lib/tools/plan/prices.ts';

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
    ['one at a time on Lambda', short, {}, 4.3],
    ['in batches of ten on Lambda', short, { batchSize: 10 }, 3.4],
    ['in a process', { ...short, host: { kind: 'process' } } as Workload, {}, 3.4],
  ])('is bounded for a million short jobs %s, besides compute', (_, workload, settings, dollars) => {
    expect(perMillion(workload, settings)).toBeLessThanOrEqual(dollars);
    expect(perMillion(workload, settings)).toBeGreaterThan(dollars - 0.4);
  });

  it('names everything that somebody pays for', () => {
    const { lines } = planFor(short, resolveSettings(), listPrices, { dashboard: true, tracing: true });
    for (const what of [
      'alarms',
      'custom metrics',
      'logs of jobs',
      'backups (point in time)',
      'dashboard',
      'traces',
    ])
      expect(lines.map((line) => line.what)).toContain(what);
    expect(lines.find(({ what }) => what === 'traces')?.dollars).toBeCloseTo(5, 1);
  });

  it('has wait and run time by type only where they are asked for, at $0.60 a type and month', () => {
    const dollarsOf = (typesMeasured?: number) =>
      planFor(short, resolveSettings(), listPrices, { typesMeasured }).lines.find(
        ({ what }) => what === 'metrics by type',
      )?.dollars;
    expect(dollarsOf()).toBeUndefined();
    expect(dollarsOf(5)).toBeCloseTo(3, 5);
  });
});

it('has two lines of metrics for an invocation that lasts longer than 10 s', () => {
  const loggedGb = (durationMs: number) =>
    planFor({ ...short, durationMs }, resolveSettings(), listPrices).lines.find(
      ({ what }) => what === 'logs of jobs',
    )?.amount ?? 0;
  expect(loggedGb(10_000)).toBeCloseTo(loggedGb(100), 9);
  expect(loggedGb(10_001) - loggedGb(10_000)).toBeCloseTo((1e6 * LOG_LINE_BYTES.invocation) / 1e9, 6);
});

describe('what a job leaves in the log', () => {
  it('is as long as the bill says', () => {
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'INFO');
    const written: string[] = [];
    for (const name of ['log', 'info'] as const)
      vi.spyOn(console, name).mockImplementation((line: string) => void written.push(line));
    const telemetry = createPowertoolsTelemetry({ serviceName: 'Leasehold-Jobs', metricsByType: true });
    telemetry.nameRequest({ awsRequestId: crypto.randomUUID() });
    const name = { jobId: crypto.randomUUID(), type: 'send-invoice', attempt: 1 };
    telemetry.info('run ended', { ...name, outcome: 'done', durationMs: 104 });
    telemetry.count('JobsClaimed');
    telemetry.count('JobsDone');
    telemetry.timeOfType?.('WaitTime', 'send-invoice', 51);
    telemetry.timeOfType?.('RunTime', 'send-invoice', 104);
    telemetry.flush();
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    // Powertools indents what it writes while POWERTOOLS_DEV is set.
    const [line = '', emf = '', ofType = ''] = written.map((text) => JSON.stringify(JSON.parse(text)));
    const near = (bytes: number, told: number) => Math.abs(bytes + 26 - told) < 0.12 * told;
    expect(near(Buffer.byteLength(line), LOG_LINE_BYTES.job), `${line.length} bytes`).toBe(true);
    expect(near(Buffer.byteLength(ofType), LOG_LINE_BYTES.type), `${ofType.length} bytes`).toBe(true);
    expect(near(Buffer.byteLength(emf), LOG_LINE_BYTES.invocation), `${emf.length} bytes`).toBe(true);
  });
});
