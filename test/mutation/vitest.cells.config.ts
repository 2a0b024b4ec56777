import { defineConfig } from 'vitest/config';

/** The tests that say what the pure parts of lib/worker/cells and the crash throttle must do: no process is started. */
export default defineConfig({
  test: {
    name: 'cells',
    include: ['test/unit/worker/cells/*.test.ts', 'test/unit/worker/{crash-throttle,channel}.test.ts'],
    env: { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  },
});
