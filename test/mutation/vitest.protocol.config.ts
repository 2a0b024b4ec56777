import { defineConfig } from 'vitest/config';

/** The tests that say what lib/protocol must do, and need no engine: each mutant is judged by those that reach it. */
export default defineConfig({
  test: {
    name: 'jobs',
    include: [
      'test/unit/protocol/**/*.test.ts',
      'test/unit/job-store.test.ts',
      'test/unit/random-lives.test.ts',
      'test/unit/reaper-sweep.test.ts',
      'test/unit/reaper/bound.test.ts',
      'test/unit/worker/{engine,test-job}.test.ts',
    ],
    env: { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  },
});
