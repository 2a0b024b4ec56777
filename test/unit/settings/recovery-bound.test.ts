import { describe, expect, it } from 'vitest';
import { recoveryBound } from '../../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';

describe('the longest time to recovery', () => {
  const bound = (given: Record<string, unknown>) => recoveryBound(resolveSettings(given));

  it('is the lease, the skew and two seconds: one of SQS’s granularity, half of delivery, half of a sweep', () => {
    expect(bound({})).toMatchObject({ usualMs: 24_000 });
    expect(bound({ skewMs: 3000, minSweepIntervalMs: 5000 })).toMatchObject({ usualMs: 23_000 + 5500 });
  });

  it('is a tick, as late as it may be, where a wake is lost or the reaper dies', () => {
    expect(bound({})).toMatchObject({ worstMs: 22_000 + 120_500 });
    expect(bound({ leaseMs: 600_000, reaperIntervalMs: 300_000 })).toEqual({
      usualMs: 604_000,
      worstMs: 602_000 + 360_500,
    });
  });
});
