import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** The contract suite on a real account, by `npm run rehearse -- --account`. Requests take their time there. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..', '..'),
    name: 'account',
    include: ['test/rehearsal/account-contract.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
