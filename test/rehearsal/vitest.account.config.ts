import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** The contract suite on a table of the account rehearsal, where requests take longer. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..', '..'),
    name: 'account',
    include: ['test/rehearsal/contract.ts'],
    // Enough to see a pattern; expired credentials fail everything.
    bail: 10,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
