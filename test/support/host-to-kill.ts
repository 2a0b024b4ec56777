import { startGuard } from '../../lib/worker/cells/host/guard.ts';
import { cellStage, resultOf } from './cell-stage.ts';
import { childrenOf, isCell } from './mortal-process.ts';

/** A host with a stuck cell and a handler's detached child, to be killed. Run as a program; tells the pids of cells and child. */
const { cells, start } = cellStage({ guard: startGuard(), settings: { maxStallMs: 3_600_000 }, cells: 2 });
await cells.ready();
const { child } = await resultOf(start('child', { place: 'detached' }));
start('spin');
start('return', { ms: 600_000 });
await new Promise((resolve) => setTimeout(resolve, 500));
process.send?.([child, ...childrenOf(process.pid).filter(isCell)]);
