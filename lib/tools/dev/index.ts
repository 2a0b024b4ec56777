import '../../node-version.ts';

/** The whole system on this machine, for tests of your own: what `leasehold dev` runs. See docs/local.md. */
export type { LocalStack, LocalStackOptions, StackEvent } from './stack.ts';
export { startLocalStack } from './stack.ts';
