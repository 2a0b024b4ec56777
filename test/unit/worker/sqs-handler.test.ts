import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPowertoolsTelemetry } from '../../../lib/aws/telemetry.ts';
import { sqsHandler } from '../../../lib/worker/hosts/sqs-handler.ts';
import { invoke } from '../../support/invoke.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A function that counts what `work` counts, and everything that it writes. */
function scene(work: (telemetry: ReturnType<typeof createPowertoolsTelemetry>) => Promise<void>) {
  const lines: Record<string, unknown>[] = [];
  for (const name of ['log', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, name).mockImplementation((line) => void lines.push(JSON.parse(line)));
  const telemetry = createPowertoolsTelemetry({ serviceName: 'test', logLevel: 'INFO', metricsByType: true });
  const handler = sqsHandler(telemetry, async ([, ...later]) => {
    await work(telemetry);
    return later;
  });
  return { handler, lines };
}

describe('a function that a queue invokes', () => {
  it('writes the metrics of a long invocation every 10 s and at its end, and none after it', async () => {
    const ends = Promise.withResolvers<void>();
    const { handler, lines } = scene(async (telemetry) => {
      const counting = setInterval(() => telemetry.count('JobsDone'), 1000);
      await ends.promise;
      telemetry.timeOfType?.('RunTime', 'mail', 5);
      clearInterval(counting);
    });
    const invocation = invoke(handler, []);
    await vi.advanceTimersByTimeAsync(9999);
    expect(lines).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(lines).toMatchObject([{ JobsDone: 9 }]);
    await vi.advanceTimersByTimeAsync(12_500);
    ends.resolve();
    await invocation;
    expect(lines).toMatchObject([{ JobsDone: 9 }, { JobsDone: 10 }, { RunTime: 5 }, { JobsDone: 3 }]);
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    expect(lines).toHaveLength(4);
  });

  it('writes the metrics of an invocation that fails', async () => {
    const { handler, lines } = scene(async (telemetry) => {
      telemetry.count('StoreFailures');
      throw new Error('no table');
    });
    await expect(invoke(handler, [])).rejects.toThrow('no table');
    expect(lines).toMatchObject([{ StoreFailures: 1 }]);
  });

  it('names its request in log lines, and omits what the log group shows', async () => {
    const { handler, lines } = scene(async (telemetry) => telemetry.info('told', { jobId: 'a' }));
    await invoke(handler, []);
    expect(lines.map(({ timestamp: _, ...rest }) => rest)).toEqual([
      { level: 'INFO', message: 'told', service: 'test', function_request_id: 'request', jobId: 'a' },
    ]);
  });
});
