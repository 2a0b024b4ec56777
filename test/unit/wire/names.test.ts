import { describe, expect, it } from 'vitest';
import { parseLeaseEntry } from '../../../lib/protocol/rows/parse-row.ts';
import { didYouMean } from '../../../lib/wire/nearest.ts';
import { byLease } from '../../../lib/wire/table.ts';
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
});

describe('names that both sides share', () => {
  it('projects into the lease index exactly what the reaper decides from', () => {
    const keys = ['jobId', byLease.partitionKey.name, byLease.sortKey.name];
    const limited = { key: 'tenant-7', group: 'limit:report', waitsFor: 'limit:report' };
    expect([...keys, ...byLease.projects].sort()).toEqual(
      Object.keys(parseLeaseEntry({ ...leaseEntry(), status: 'pending', ...limited })).sort(),
    );
  });
});
