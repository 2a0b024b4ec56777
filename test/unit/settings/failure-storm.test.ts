import { expect, it } from 'vitest';
import { PARTITION_WRITE_UNITS } from '../../../lib/settings/relations.ts';
import { failureStorms } from '../../support/failure-storm.ts';

it.each(failureStorms)(
  'no key of the index is above its limit: $failures failures within $withinMs ms beside $running jobs, $shards shards',
  ({ r, q, f }) => {
    expect(Math.min(r, q, f)).toBeGreaterThan(0);
    expect(Math.max(r, q, f)).toBeLessThan(PARTITION_WRITE_UNITS);
  },
);
