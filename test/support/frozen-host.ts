import type { Act } from './cell-jobs.ts';
import { cellStage } from './cell-stage.ts';

/** A host whose cell has a job of a few seconds and little patience with stalls, to be stopped. Run as a program, with what the job does. */
const [act = 'return', journal] = process.argv.slice(2);
const { cells, start } = cellStage({ settings: { maxStallMs: 1000 } });
await cells.ready();
const run = start(
  act as Act,
  { ms: 3000, journal },
  { maxStallMs: 1000, leaseMs: act === 'listen' ? 3000 : 60_000 },
);
process.send?.('runs');
const end = await run.end;
process.send?.(end);
await cells.close();
