import '../node-version.ts';

export { createEmbeddedReaper, type EmbeddedReaper } from './embedded.ts';
export { type ReapBounds, type ReapDeps, type ReapResult, reap } from './reap.ts';
export { type SweepOptions, type SweepResult, sweep } from './sweep.ts';
export type { Trigger } from './wake.ts';
