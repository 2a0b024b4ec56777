import { expect, it } from 'vitest';
import { PARTITION_WRITE_UNITS } from '../../../lib/settings/relations.ts';
import { failureStorms } from '../../support/failure-storm.ts';

it.each(failureStorms)(
  'no key of the index exceeds its limit: $failures failures in $withinMs ms next to $running jobs on $shards shards',
  ({ r, q, f }) => {
    expect(Math.min(r, q, f)).toBeGreaterThan(0);
    expect(Math.max(r, q, f)).toBeLessThan(PARTITION_WRITE_UNITS);
  },
);
