import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** `npm run test:deep` sets it: deeper counts, every engine, and the suites whose files end in `.deep.test.ts`. */
const deep = process.env.TEST_DEEP === '1';

const project = (name: string, extra: object = {}) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    exclude: deep ? [] : ['**/*.deep.test.ts'],
    ...extra,
  },
});

/** One thread runs many files: loading the SDK or the CDK anew for each takes longer than most of their tests. */
const inThreads = { pool: 'threads', isolate: false, testTimeout: 60_000 };
/** Suites on real engines start processes: give them room on a busy two-core machine. */
const onRealParts = { testTimeout: 60_000, hookTimeout: 60_000 };
const withEngines = { ...onRealParts, globalSetup: ['test/support/engines-setup.ts'] };

/** Groups run one after the other: what needs the machine to itself comes last. */
const inGroup = (groupOrder: number) => ({ sequence: { groupOrder } });

export default defineConfig({
  test: {
    // More workers than cores make suites on real engines slower and their timing worse.
    maxWorkers: availableParallelism(),
    env: {
      POWERTOOLS_DEV: 'true',
      POWERTOOLS_METRICS_DISABLED: 'false',
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
    },
    coverage: {
      provider: 'v8',
      include: ['lib/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
    },
    projects: [
      project('unit', inThreads),
      project('cdk', onRealParts),
      project('simulation', { testTimeout: 60_000 }),
      project('model', { testTimeout: 60_000 }),
      project('integration', { ...withEngines, ...inGroup(1) }),
      project('e2e', { ...withEngines, ...inGroup(2), testTimeout: 120_000, fileParallelism: false }),
    ],
  },
});
