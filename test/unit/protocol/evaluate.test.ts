import { expect, it } from 'vitest';
import { clauseHolds } from '../../../lib/protocol/writes/evaluate.ts';
import type { Clause } from '../../../lib/protocol/writes/row-write.ts';

/** As DynamoDB has it: what is absent, or of another type, is neither below nor at most anything. */
it.each<[Clause, unknown, boolean]>([
  [{ attribute: 'n', is: 'present' }, undefined, false],
  [{ attribute: 'n', is: 'present' }, 0, true],
  [{ attribute: 'n', is: 'below', value: 7 }, '5', false],
  [{ attribute: 'n', is: 'below', value: 7 }, 6, true],
  [{ attribute: 'n', is: 'below', value: 7 }, 7, false],
  [{ attribute: 'n', is: 'atMost', value: 7 }, '5', false],
  [{ attribute: 'n', is: 'atMost', value: 7 }, 7, true],
])('holds or not: %o of %o', (clause, n, holds) => {
  expect(clauseHolds(clause, { jobId: 'a', n })).toBe(holds);
});
