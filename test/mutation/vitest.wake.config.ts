import { defineConfig } from 'vitest/config';

/** The tests that say what the chain of reapers and its breaker must do, on virtual time and in memory. */
export default defineConfig({
  test: {
    name: 'wake',
    include: [
      'test/unit/reaper/{wake,chain,breaker,breaker-keeper,mass-lapse,excused-lapses}.test.ts',
      'test/unit/reaper-{breaker,watch}.test.ts',
    ],
    env: { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  },
});
