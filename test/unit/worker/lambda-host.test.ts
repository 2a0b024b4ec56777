import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PowertoolsTelemetry } from '../../../lib/aws/telemetry.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';
import { withPowertools } from '../../../lib/worker/hosts/lambda-host.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('writes the metrics of a long invocation every 10 s and at its end, and none after it', async () => {
  let written = 0;
  const telemetry: PowertoolsTelemetry = {
    ...createKeptTelemetry(),
    nameRequest() {},
    flush: () => void written++,
  };
  const ends = Promise.withResolvers<undefined>();
  const handler = withPowertools(telemetry, () => ends.promise as never);
  const invocation = handler({ Records: [] }, { awsRequestId: 'r' } as never);
  await vi.advanceTimersByTimeAsync(9999);
  expect(written).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(written).toBe(1);
  await vi.advanceTimersByTimeAsync(13 * 10_000);
  expect(written).toBe(14);
  ends.resolve(undefined);
  await invocation;
  expect(written).toBe(15);
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(written).toBe(15);
});
