import { expect, it } from 'vitest';
import {
  hintDelaySecondsOf,
  planDispatch,
  planRedispatch,
  planTakeBack,
} from '../../../lib/protocol/decisions/dispatch.ts';

it('a hint is delayed by whole seconds, and never by less than nothing', () => {
  const delay = (notBefore: number) => hintDelaySecondsOf({ notBefore }, 10_000);
  expect([9000, 10_000, 10_001, 12_000].map(delay)).toEqual([0, 0, 1, 2]);
});

it('a hint for a job that is due later than SQS can delay goes out two ticks ahead, the later one as late as it may be', () => {
  const settings = { dispatchLeaseMs: 1000, dispatchLeaseCapMs: 9000, reaperIntervalMs: 60_000 };
  const far = 901_000;
  expect(planDispatch(0, far, settings)).toMatchObject({ leaseUntil: far - 180_000, dispatches: 0 });
  const last = { notBefore: 900_000, dispatches: 0 };
  expect(planRedispatch(0, last, settings)).toMatchObject({ hintDelaySeconds: 900, dispatches: 1 });
  expect(planTakeBack(5000, 5000, { ...settings, skewMs: 2000 })).toMatchObject({ notBefore: 9001 });
});
