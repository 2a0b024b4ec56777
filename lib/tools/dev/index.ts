import '../../node-version.ts';

export type { LocalStack, LocalStackOptions, StackEvent } from './stack.ts';
export { startLocalStack } from './stack.ts';
