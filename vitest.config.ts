import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** `npm run test:deep` sets it: deeper counts, every engine, and the suites whose files end in `.deep.test.ts`. */
const deep = process.env.TEST_DEEP === '1';

const project = (name: string, extra: object = {}, folders: readonly string[] = [name]) => ({
  extends: true as const,
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    exclude: deep ? [] : ['**/*.deep.test.ts'],
    ...extra,
  },
});

/** Whole systems wait longest: none of them is left for the end. */
class WholeSystemsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isWhole = ({ moduleId }: TestSpecification) => moduleId.includes('/test/e2e/');
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(isWhole(b)) - Number(isWhole(a)));
  }
}

const cores = availableParallelism();
/**
 * What mostly waits, for leases to lapse and for processes to start, runs side by side. Projects are taken by name: the long computations
 * come after it, and use the cores that the last of those who wait leave idle.
 */
const besideOthers = { maxWorkers: 3 * cores, sequence: { groupOrder: 0 } };
const onEngines = {
  ...besideOthers,
  globalSetup: ['test/support/engines-setup.ts'],
  // Each look is a request to an engine, which takes a core from the processes that are waited for.
  expect: { poll: { timeout: 120_000, interval: 50 } },
};
/** Many short files that compute: on more workers than cores they would only load the same modules more often. */
const onAllCores = { maxWorkers: cores, sequence: { groupOrder: 1 } };

export default defineConfig({
  test: {
    sequence: { sequencer: WholeSystemsFirst },
    // Loading the SDK or the CDK anew for each file takes longer than most of their tests.
    isolate: false,
    // Far more than any test needs: a limit is there for a test that hangs, not for one on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    env: {
      POWERTOOLS_DEV: 'true',
      POWERTOOLS_METRICS_DISABLED: 'false',
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      // Processes that suites start need not compile the SDK each time.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled'),
    },
    coverage: {
      provider: 'v8',
      include: ['lib/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
    },
    projects: [
      // One project, so that both use the same workers.
      project('engines', onEngines, ['e2e', 'integration']),
      project('model', { ...besideOthers, pool: 'threads' }),
      project('simulation', { ...besideOthers, pool: 'threads' }),
      // The CDK's bundling wants the standard streams of a process.
      project('cdk', onAllCores),
      project('unit', { ...onAllCores, pool: 'threads' }),
    ],
  },
});
