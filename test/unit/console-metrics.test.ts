import { describe, expect, it } from 'vitest';
import { cloudWatchMetrics } from '../../lib/tools/console/cloudwatch-metrics.ts';

const NOW = 1_800_000_000_000;

describe('what a deployment published', () => {
  const lines = {
    done: [null, 5, null],
    running: [null, 2, 3],
    waiting: [7, 7, 7],
    ageSeconds: [null, 12, 90],
    reclaimed: [null, null, null],
    delayMs: [null, 1_500, null],
    refused: [null, 1, 2],
  };
  const read = async () => ({ from: NOW, lines });

  it('is zero where the deployment was alive, and a gap where it published nothing', async () => {
    const trend = await cloudWatchMetrics(read, true).trend('1h');
    expect(trend.lines).toMatchObject({
      done: [null, 5, 0],
      reclaimed: [null, 0, 0],
      waiting: [7, 7, 7],
      ageMs: [null, 12_000, 90_000],
    });
  });

  it('is unknown, not zero, without the name of the service', async () => {
    const metrics = cloudWatchMetrics(read, false);
    expect((await metrics.trend('1h')).lines.done).toBeUndefined();
    expect((await metrics.trend('1h')).problem).toContain('LEASEHOLD_SERVICE_NAME');
    expect((await metrics.lastHour()).failed).toBeUndefined();
  });
});
