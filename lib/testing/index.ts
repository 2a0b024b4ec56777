import '../node-version.ts';

/** For tests of your own handlers: no AWS, no waiting. See docs/guides/testing.md. */
export { type CrashEverywhereOptions, type CrashPoint, crashEverywhere } from './crash-everywhere.ts';
export type { FakeClock } from './fake-clock.ts';
export type { KeptTelemetry } from './kept-telemetry.ts';
export type { MemoryQueue } from './memory-queue.ts';
export type { MemoryTable } from './memory-table.ts';
export {
  type Fault,
  type RunOptions,
  type TestedJob,
  type TestJobOptions,
  type TestRunEnd,
  testJob,
} from './test-job.ts';
export type { TestStack } from './test-stack.ts';
