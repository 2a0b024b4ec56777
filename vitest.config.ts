import { defineConfig } from 'vitest/config';

const project = (name: string, extra: object = {}) => ({
  extends: true as const,
  test: { name, include: [`test/${name}/**/*.test.ts`], ...extra },
});

/** Suites on real engines start processes: give them room on a busy two-core machine. */
const onRealParts = { testTimeout: 60_000, hookTimeout: 60_000 };
/** Where nobody looks on, a machine that stalled for a moment gets a second chance; a real fault fails every time. */
const secondChance = { retry: process.env.CI ? 2 : 0 };
const withEngines = { ...onRealParts, ...secondChance, globalSetup: ['test/support/engines-setup.ts'] };

/** Groups run one after the other: what needs the machine to itself comes last. */
const inGroup = (groupOrder: number) => ({ sequence: { groupOrder } });

export default defineConfig({
  test: {
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
      project('unit', { testTimeout: 60_000 }),
      project('cdk', onRealParts),
      project('simulation', { testTimeout: 60_000 }),
      project('model', { testTimeout: 60_000 }),
      project('integration', { ...withEngines, ...inGroup(1) }),
      project('e2e', { ...withEngines, ...inGroup(2), testTimeout: 120_000, fileParallelism: false }),
    ],
  },
});
