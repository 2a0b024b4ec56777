import { defineConfig } from 'vitest/config';

/** The tests that say what the chain of reapers must do, on virtual time and in memory. */
export default defineConfig({
  test: {
    name: 'wake',
    include: ['test/unit/reaper/{wake,reap,embedded,bound}.test.ts'],
    env: { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  },
});
