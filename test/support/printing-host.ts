import { cellStage } from './cell-stage.ts';

/** A host with two cells that print long lines at the same time. Run as a program; its output is what they say. */
const lines = Number(process.argv[2]);
const { cells, start } = cellStage({ cells: 2, concurrency: 2 });
await cells.ready();
const print = (n: number) =>
  start('print', { lines, width: 5000 }, { origin: { requestId: `request-job-${n}` } }).end;
await Promise.all([print(1), print(2)]);
await cells.close();
