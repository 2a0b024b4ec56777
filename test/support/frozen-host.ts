import { cellStage } from './cell-stage.ts';

/** A host whose cell has a job of a few seconds and little patience with stalls, to be stopped and resumed. Run as a program. */
const { cells, start } = cellStage({ settings: { maxStallMs: 1000 } });
await cells.ready();
const run = start('return', { ms: 3000 }, { maxStallMs: 1000 });
process.send?.('runs');
const end = await run.end;
process.send?.(end);
await cells.close();
