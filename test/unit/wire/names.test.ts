import { describe, expect, it } from 'vitest';
import { parseLeaseEntry } from '../../../lib/protocol/rows/parse-row.ts';
import { settingVariable } from '../../../lib/wire/environment.ts';
import { didYouMean } from '../../../lib/wire/nearest.ts';
import { byLease, claimAttribute } from '../../../lib/wire/table.ts';
import { leaseEntry } from '../../support/jobs.ts';

describe('the nearest name', () => {
  it.each([
    ['leasems', 'leaseMs'],
    ['laeseMs', 'leaseMs'],
    ['SHARDS', 'shards'],
    ['color', undefined],
  ])('of %s is %s', (name, near) => {
    expect(didYouMean(name, ['leaseMs', 'shards'])).toBe(
      near === undefined ? '' : ` Did you mean '${near}'?`,
    );
  });

  it('is nothing where nothing is known', () => {
    expect(didYouMean('a', [])).toBe('');
  });
});

describe('names that both sides share', () => {
  it('turns a setting into its environment variable', () => {
    expect(settingVariable('leaseMs')).toBe('LEASEHOLD_LEASE_MS');
    expect(settingVariable('watch')).toBe('LEASEHOLD_WATCH');
  });

  it('gives the attributes of the claim ring two digits, and wraps after ten', () => {
    expect([0, 1, 9, 10, 21].map(claimAttribute)).toEqual([
      'claim00',
      'claim01',
      'claim09',
      'claim00',
      'claim01',
    ]);
  });

  it('projects into the lease index exactly what the reaper decides from', () => {
    const keys = ['jobId', byLease.partitionKey.name, byLease.sortKey.name];
    const limited = { key: 'tenant-7', group: 'limit:report', waitsFor: 'limit:report' };
    expect([...keys, ...byLease.projects].sort()).toEqual(
      Object.keys(parseLeaseEntry({ ...leaseEntry(), status: 'pending', ...limited })).sort(),
    );
  });
});
