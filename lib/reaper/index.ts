import '../node-version.ts';

/** The reaper for processes of your own; on Lambda the stack brings it along. */
export { createEmbeddedReaper } from './embedded.ts';
export { type SweepOptions, type SweepResult, sweep } from './sweep.ts';
export { type WatchDeps, type WatchOptions, type WatchResult, watch } from './watch.ts';
