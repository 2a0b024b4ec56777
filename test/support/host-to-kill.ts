import { readdirSync, readFileSync } from 'node:fs';
import { startGuard } from '../../lib/worker/cells/host/guard.ts';
import { cellStage, resultOf } from './cell-stage.ts';

/** A host with a stuck cell and a handler's detached child, to be killed. Run as a program; tells the pids of cells and child. */
const { cells, start } = cellStage({ guard: startGuard(), settings: { maxStallMs: 3_600_000 }, cells: 2 });
await cells.ready();
const { child } = await resultOf(start('child', { place: 'detached' }));
start('spin');
start('return', { ms: 600_000 });
await new Promise((resolve) => setTimeout(resolve, 500));
const isCell = (pid: string) => {
  try {
    const [, parent] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    return (
      Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('cell-main')
    );
  } catch {
    return false;
  }
};
process.send?.([child, ...readdirSync('/proc').filter(isCell).map(Number)]);
