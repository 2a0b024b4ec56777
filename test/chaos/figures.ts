import type { FaultProxy } from '../support/fault-proxy.ts';
import type { Evidence } from './evidence.ts';
import { CELL_KILLED, CELL_STOPPED, type Member } from './members.ts';

/** What a run amounted to. */
export interface ChaosFigures {
  readonly jobs: Readonly<Record<string, number>>;
  readonly runs: number;
  readonly processesLost: number;
  /** Cells that were killed or stopped while their hosts lived. */
  readonly cellsKilled: number;
  readonly cellsStopped: number;
  readonly pauses: number;
  /** Requests that something was done to, by what. */
  readonly faults: Readonly<Record<string, number>>;
  readonly requests: number;
  /** What the processes themselves counted, as far as they lived to tell. */
  readonly metrics: Readonly<Record<string, number>>;
}

const TOLD = ['JobsReclaimed', 'WritesFenced', 'LeasesLost', 'LateCompletions', 'HintsSent', 'CellsDied'];

export function figuresOf(evidence: Evidence, members: readonly Member[], sqs: FaultProxy): ChaosFigures {
  const jobs: Record<string, number> = {};
  for (const { status } of evidence.rows) jobs[String(status)] = (jobs[String(status)] ?? 0) + 1;
  const proxies = [...members.map(({ proxy }) => proxy), sqs];
  const faults: Record<string, number> = {};
  for (const { injected } of proxies)
    for (const [kind, count] of Object.entries(injected)) faults[kind] = (faults[kind] ?? 0) + count;
  const metrics: Record<string, number> = {};
  for (const { process } of members)
    for (const name of TOLD) metrics[name] = (metrics[name] ?? 0) + totalOf(process.output, name);
  const timesOf = (what: string) => evidence.events.filter((event) => event.what === what).length;
  return {
    jobs,
    runs: evidence.journal.filter(({ event }) => event === 'start').length,
    processesLost: members.reduce((sum, { process }) => sum + process.deaths, 0),
    cellsKilled: timesOf(CELL_KILLED),
    cellsStopped: timesOf(CELL_STOPPED),
    pauses: evidence.pauses.length,
    faults,
    requests: proxies.reduce(
      (sum, { counts }) => sum + Object.values(counts).reduce((all, each) => all + each, 0),
      0,
    ),
    metrics,
  };
}

/** Sums a metric over the EMF lines of an output; a value is a number, or a list of them. */
function totalOf(output: string, metric: string): number {
  const values = [...output.matchAll(new RegExp(`"${metric}":(\\[[^\\]]*\\]|[0-9.]+)`, 'g'))];
  return values
    .flatMap(([, value]) => JSON.parse(value ?? '0') as number | number[])
    .reduce((sum, each) => sum + each, 0);
}
