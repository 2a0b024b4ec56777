import { describe, expect, it, vi } from 'vitest';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';

/** The lines that are written meanwhile. */
function written(act: () => void) {
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(String(line)));
  act();
  log.mockRestore();
  return lines.map((line) => JSON.parse(line));
}

describe('telemetry', () => {
  const unreadable = {
    get field(): string {
      throw new Error('no');
    },
  };

  it.each([
    ['fields that cannot be read', unreadable, undefined],
    ['fields that cannot be written', { field: { toJSON: () => JSON.parse('{') } }, undefined],
    ['an error that is no text', {}, Object.create(null)],
  ])('tells what it can of a line with %s, and throws nothing', (_, fields, error) => {
    const lines: string[] = [];
    const log = vi.spyOn(console, 'error').mockImplementation((line) => void lines.push(String(line)));
    const telemetry = createPowertoolsTelemetry({ serviceName: 'test' });
    expect(() => telemetry.error('told', error, fields)).not.toThrow();
    log.mockRestore();
    expect(lines.join()).toContain('told');
  });

  it.each([
    ['INFO', undefined],
    ['WARN', 'WARN'],
    ['ERROR', 'ERROR'],
  ])('writes metrics that Lambda lets through at level %s', (lambdaLevel, level) => {
    vi.stubEnv('AWS_LAMBDA_LOG_LEVEL', lambdaLevel);
    const told = written(() => {
      const telemetry = createPowertoolsTelemetry({ serviceName: 'test', metricsByType: true });
      for (const _round of [1, 2]) {
        telemetry.count('JobsDone');
        telemetry.timeOfType?.('RunTime', 'mail', 100);
        telemetry.flush();
      }
    });
    vi.unstubAllEnvs();
    expect(told.map((line) => line.level)).toEqual([level, level, level, level]);
    for (const { timestamp } of told) expect(timestamp === undefined).toBe(level === undefined);
  });

  it('measures by job type only if enabled, in a separate line for each type', () => {
    expect(createPowertoolsTelemetry({ serviceName: 'test' }).timeOfType).toBeUndefined();
    const told = written(() => {
      const telemetry = createPowertoolsTelemetry({ serviceName: 'test', metricsByType: true });
      for (const round of [1, 2]) {
        telemetry.timeOfType?.('WaitTime', 'mail', 10 * round);
        telemetry.timeOfType?.('RunTime', 'mail', 100);
        telemetry.timeOfType?.('RunTime', 'video', 5000);
        telemetry.flush();
      }
    });
    expect(told).toEqual([
      expect.objectContaining({ service: 'test', type: 'mail', WaitTime: 10, RunTime: 100 }),
      expect.objectContaining({ service: 'test', type: 'video', RunTime: 5000 }),
      expect.objectContaining({ service: 'test', type: 'mail', WaitTime: 20, RunTime: 100 }),
      expect.objectContaining({ service: 'test', type: 'video', RunTime: 5000 }),
    ]);
    for (const { _aws } of told) expect(_aws.CloudWatchMetrics[0].Dimensions).toEqual([['service', 'type']]);
  });

  it('sums up throttled requests of each limit in a separate line', () => {
    const told = written(() => {
      const telemetry = createPowertoolsTelemetry({ serviceName: 'test' });
      for (let i = 0; i < 250; i++) telemetry.countThrottled?.('a of jobs', 2);
      telemetry.countThrottled?.('b of jobs', 1);
      telemetry.flush();
      telemetry.flush();
    });
    expect(told).toEqual([
      expect.objectContaining({ service: 'test', limit: 'a of jobs', RequestsThrottled: 500 }),
      expect.objectContaining({ service: 'test', limit: 'b of jobs', RequestsThrottled: 1 }),
    ]);
    for (const { _aws } of told) expect(_aws.CloudWatchMetrics[0].Dimensions).toEqual([['service', 'limit']]);
  });

  it('writes a count as one sum, however often it was counted, and a gauge with all its values', () => {
    const told = written(() => {
      const telemetry = createPowertoolsTelemetry({ serviceName: 'test' });
      for (let i = 0; i < 250; i++) telemetry.count('JobsDone');
      telemetry.count('JobsClaimed', 3);
      telemetry.gauge('ReclaimDelay', 5);
      telemetry.gauge('ReclaimDelay', 7);
      telemetry.flush();
      telemetry.flush();
    });
    expect(told).toEqual([
      expect.objectContaining({ JobsDone: 250, JobsClaimed: 3, ReclaimDelay: [5, 7], service: 'test' }),
    ]);
  });
});
