import { describe, expect, it } from 'vitest';
import { recoveryBound } from '../../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';

describe('the longest time to recovery', () => {
  const bound = (given: Record<string, unknown>) => recoveryBound(resolveSettings(given));

  it('is the lease, the skew and one sweep where a reaper always watches', () => {
    expect(bound({ watch: 'always', watchMs: 120_000 })).toEqual({ watchedMs: 33_000, worstMs: 33_000 });
  });

  it('grows by the time between the end of one watch and a tick that comes as late as it may', () => {
    expect(bound({ watch: 'always' })).toEqual({ watchedMs: 33_000, worstMs: 43_000 });
  });

  it('is the next tick where the reaper had gone home', () => {
    expect(bound({ watch: 'whileBusy' })).toEqual({ watchedMs: 33_000, worstMs: 120_500 });
    expect(bound({ watch: 'whileBusy', leaseMs: 600_000 })).toEqual({ watchedMs: 603_000, worstMs: 613_000 });
  });

  it('adds lease and tick where no reaper watches', () => {
    expect(bound({ watch: 'never', graceMs: 1_000 })).toEqual({ watchedMs: undefined, worstMs: 153_500 });
  });
});
