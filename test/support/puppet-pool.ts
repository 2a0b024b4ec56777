import { resolveSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createKeptTelemetry } from '../../lib/testing/kept-telemetry.ts';
import type { RunEnd, Work } from '../../lib/worker/cells/cells.ts';
import { type CellPoolOptions, createCellPool } from '../../lib/worker/cells/host/cell-pool.ts';
import { type PuppetCell, puppetCell, settled } from './puppet-cell.ts';
import { stubWork } from './stub-work.ts';

const MIB = 1024 * 1024;
const MEMORY_BYTES = 512 * MIB;

/** A pool whose cells are puppets, and whose time the test moves. */
export function puppetPool(
  given: Partial<CellPoolOptions> & { readonly settings?: CellPoolOptions['settings'] } = {},
) {
  const clock = createFakeClock();
  const telemetry = createKeptTelemetry();
  const puppets: PuppetCell[] = [];
  const ticking = { every: undefined as number | undefined, started: 0 };
  let beat = () => {};
  let closed = 0;
  const cells = createCellPool({
    ...{ clock, telemetry, settings: resolveSettings(), serviceName: 'test', source: 'file:///jobs.js' },
    ...{ cells: 1, concurrency: 10, processors: 1 },
    ...{ memoryBytes: MEMORY_BYTES, memoryForCells: () => 20 * MEMORY_BYTES },
    timers: {
      every(ms, run) {
        beat = run;
        ticking.every = ms;
        ticking.started += 1;
        return () => {
          ticking.every = undefined;
        };
      },
      defer: (run) => run(),
    },
    launch(orders) {
      const puppet = puppetCell(orders);
      puppets.push(puppet);
      return puppet.process;
    },
    onClosed() {
      closed += 1;
    },
    ...given,
  });
  const at = (index: number): PuppetCell => {
    const puppet = puppets[index];
    if (puppet === undefined) throw new Error(`there is no cell ${index}, but ${puppets.length} of them`);
    return puppet;
  };
  const ready = (...indexes: number[]) => {
    for (const index of indexes) at(index).send({ kind: 'ready', types: [{ type: 'work' }] });
  };
  const start = (jobId: string, work: Partial<Work> = {}) => {
    const ends: RunEnd[] = [];
    const run = cells.start(stubWork({ jobId, ...work }));
    void run.end.then((end) => ends.push(end));
    return { ...run, ends };
  };
  return {
    ...{ cells, clock, telemetry, puppets, at, ready, start, ticking, closed: () => closed },
    /** The jobs that a cell was given and has not said an end of, in their order. */
    jobsOf: (index: number) =>
      at(index)
        .runs()
        .map(({ job }) => job.jobId),
    /** Says how the run of this job ends. */
    async finish(index: number, jobId: string, kind: 'returned' | 'threw' = 'returned') {
      const run =
        at(index)
          .runs()
          .find(({ job }) => job.jobId === jobId)?.run ?? -1;
      const error = { text: 'no', loggable: 'no', retryable: true };
      at(index).send({ kind: 'ended', run, end: kind === 'threw' ? { kind, error } : { kind } });
      await settled();
    },
    /** The handler of this job has begun. */
    begin: (index: number, jobId: string) =>
      at(index).begin(
        at(index)
          .runs()
          .find(({ job }) => job.jobId === jobId)?.run ?? -1,
      ),
    async die(...indexes: number[]) {
      for (const index of indexes) at(index).die();
      await settled();
    },
    /** So many beats of the host's time, if it ticks at all. */
    async tick(times = 1) {
      for (let i = 0; i < times && ticking.every !== undefined; i++) {
        await clock.advance(ticking.every);
        beat();
      }
    },
  };
}
