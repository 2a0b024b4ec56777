import { defineConfig } from 'vitest/config';

// One engine, the quicker one: a mutant that only the other would notice counts as a survivor.
process.env.TEST_ENGINES ??= 'dynoxide';

/** The tests that say what lib/aws/dynamodb must do: the shape of requests, and the contract on a real engine. */
export default defineConfig({
  test: {
    name: 'dynamodb',
    include: [
      'test/unit/aws/dynamodb/**/*.test.ts',
      'test/unit/aws/clients.test.ts',
      'test/unit/{report-failures,client-enqueue,reaper-bystanders}.test.ts',
      'test/mutation/contract.test.ts',
      'test/integration/{dynamodb-table,lost-replies}.test.ts',
    ],
    globalSetup: ['test/support/engines-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  },
});
