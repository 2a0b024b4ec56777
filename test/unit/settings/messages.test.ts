import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { SettingsError } from '../../../lib/settings/settings-error.ts';

const refusal = (given: Record<string, unknown>): SettingsError => {
  try {
    resolveSettings(given);
  } catch (error) {
    if (error instanceof SettingsError) return error;
  }
  throw new Error('it was accepted');
};

describe('a setting that is refused', () => {
  it.each([
    [
      { leaseMs: 5 },
      "setting 'leaseMs' is 5; it must be a whole number from 10000 to 3600000 ms (how long a claim holds without a heartbeat)",
    ],
    [
      { shards: 0 },
      "setting 'shards' is 0; it must be a whole number from 1 to 256 (partitions of the lease index; may only grow)",
    ],
    [
      { maxLapses: 0 },
      "setting 'maxLapses' is 0; it must be a whole number from 1 to 25 (lapses, that is lost hosts, after which a job is quarantined)",
    ],
  ])('says what it is, what is allowed in which unit, and what it means: %o', (given, message) => {
    expect(refusal(given)).toMatchObject({ code: 'SETTINGS', message, problems: [message] });
  });
});

describe('two settings that are related', () => {
  it('may not be equal where one must be less', () => {
    expect(refusal({ skewMs: 3_334, minLeaseMs: 10_002 }).message).toContain(
      'skewMs (3334) must be less than a third of minLeaseMs (10002)',
    );
  });
});
