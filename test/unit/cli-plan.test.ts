import { describe, expect, it } from 'vitest';
import { shardsNeeded } from '../../lib/settings/relations.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { SECONDS_A_MONTH } from '../../lib/tools/plan/bill.ts';
import { planFor, type Workload } from '../../lib/tools/plan/plan.ts';
import { listPrices } from '../../lib/tools/plan/prices.ts';
import { runInProcess } from '../support/cli.ts';

const workload: Workload = {
  ...{ rate: 10, durationMs: 60_000, checkpoints: 0, errorShare: 0, crashShare: 0 },
  ...{ payloadBytes: 100, resultBytes: 2, checkpointBytes: 0, host: { kind: 'process' } },
};
const plan = (changes: Partial<Workload> = {}, settings = {}) =>
  planFor({ ...workload, ...changes }, { ...defaultSettings, ...settings }, listPrices);
const line = (of: ReturnType<typeof plan>, what: string) => of.lines.find((each) => each.what === what);

describe('a plan', () => {
  it('adds up claims, heartbeats and completions of all jobs of a month', () => {
    const planned = plan();
    const jobs = 10 * SECONDS_A_MONTH;
    expect(planned.running).toBe(600);
    expect(planned.beatsPerJob).toBe(13);
    expect(line(planned, 'claims')?.amount).toBeCloseTo(2 * jobs);
    expect(line(planned, 'heartbeats')?.amount).toBeCloseTo(13 * 3 * jobs);
    expect(line(planned, 'completions')?.amount).toBeCloseTo(2 * jobs);
    expect(planned.heartbeatDollars).toBeCloseTo((39 * jobs * 0.625) / 1e6);
    expect(planned.writeUnitsPerSecond).toEqual({ table: 150, index: 280 });
    const sum = planned.lines.reduce((total, { dollars }) => total + dollars, 0);
    expect(planned.monthlyDollars).toBeCloseTo(sum);
    expect(planned.dollarsPerMillionJobs).toBeCloseTo((sum / jobs) * 1e6);
  });

  it('charges retries and reclaims with the claim that follows, and their runs', () => {
    const planned = plan({ errorShare: 0.1, crashShare: 0.1, host: { kind: 'lambda', memoryMb: 1024 } });
    const jobs = 10 * SECONDS_A_MONTH;
    // 0.2 of the attempts fail, so a job takes 1.25 attempts: 0.125 more by errors, as many by crashes.
    expect(line(planned, 'retries after errors')?.amount).toBeCloseTo(0.125 * 6 * jobs, -3);
    expect(line(planned, 'reclaims after crashes')?.amount).toBeCloseTo(0.125 * 6 * jobs, -3);
    expect(line(planned, 'workers (Lambda time)')?.amount).toBeCloseTo(1.25 * 60 * jobs, -3);
  });

  it('never needs fewer shards than the settings demand for the same load', () => {
    for (const [rate, durationMs] of [
      [1000, 60_000],
      [100, 3_600_000],
      [3, 120_000],
    ] as const) {
      const { shards, running } = plan({ rate, durationMs });
      const demanded = shardsNeeded({ maxRunning: running, heartbeatMs: defaultSettings.heartbeatMs });
      expect(shards).toBeGreaterThanOrEqual(demanded);
    }
  });
});

describe('plan', () => {
  it('takes two of running, rate and duration and shows figures and tables', async () => {
    const run = await runInProcess(['plan', '--running', '600', '--duration', '1m', '--payload', '100']);
    expect(run.code).toBe(0);
    expect(run.stdout).toContain('10 jobs a second, 1 min each, 600 running');
    expect(run.stdout).toMatch(/recovery +24 s after a worker's death; 2 min 23 s at worst/);
    expect(run.stdout).toMatch(/Coordination: .* \$\d+\.\d\d\n/);
    expect(run.stdout).toMatch(/Compute: .* \$[\d,]+\.\d\d\n/);
    expect(run.stdout).toContain('us-east-1');
  });

  it('adds pools of functions and of containers', async () => {
    const load = ['plan', '--rate', '1', '--duration', '1m'];
    const run = await runInProcess([
      ...load,
      '--lambda-pools',
      '1',
      '--fargate-hours',
      '300',
      '--fargate-hours',
      '40',
    ]);
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(/containers \(Fargate\) +340 +hours +\$16\.79/);
    expect(run.stdout).toMatch(/alarms of pools +13 +metrics +\$1\.30/);
  });

  it('refuses what cannot be planned, and says what to give', async () => {
    for (const [args, message] of [
      [['--rate', '5'], 'Give two of --running, --rate and --duration'],
      [['--rate', '5', '--duration', '1m', '--running', '5'], 'are 300 running jobs, not 5'],
      [['--rate', '5', '--duration', '1m', '--lease', '1s'], "setting 'leaseMs' is 1000"],
      [
        ['--rate', '5', '--duration', '1m', '--heartbeat', '20s'],
        'heartbeatMs (20000) must be at most a third',
      ],
      [['--rate', '0', '--duration', '1m'], 'above 0'],
      [['--rate', '5', '--duration', '0'], 'must be above 0'],
      [['--rate', '5', '--duration', '1m', '--errors', '1'], 'not a share'],
      [['--rate', '5', '--duration', '1m', '--fargate-hours', '-1'], 'Give a number above 0'],
      [
        ['--rate', '5', '--duration', '1m', '--errors', '0.5', '--crashes', '0.5'],
        'together must be below 1',
      ],
      [['--rate', '5', '--duration', '1m', '--prices', 'nowhere.json'], 'cannot be read as JSON'],
    ] as const) {
      const run = await runInProcess(['plan', ...args]);
      expect([args, run.code]).toEqual([args, 2]);
      expect(run.stderr).toContain(message);
    }
  });
});
