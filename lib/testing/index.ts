import '../node-version.ts';

/** For tests of your own handlers: no AWS, no waiting. See docs/guides/testing.md. */
export { type CrashEverywhereOptions, type CrashPoint, crashEverywhere } from './crash-everywhere.ts';
export { createFakeClock, type FakeClock } from './fake-clock.ts';
export { createFakeRandom } from './fake-random.ts';
export { createKeptTelemetry, type KeptTelemetry } from './kept-telemetry.ts';
export { createMemoryQueue, type MemoryQueue } from './memory-queue.ts';
export { createMemoryTable, type MemoryTable } from './memory-table.ts';
export { type Fault, type RunOptions, type TestedJob, type TestRunEnd, testJob } from './test-job.ts';
export { createTestStack, type TestStack, type TestWorker } from './test-stack.ts';
