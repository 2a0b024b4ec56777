import { figure, ratio, seconds, table } from './markdown.ts';
import type { Results } from './results.ts';

/** One figure of Leasehold's beside the best of the peers'; equal is not worse. */
interface Headline {
  readonly what: string;
  readonly is: 'better when lower' | 'better when higher';
  readonly ours: number | undefined;
  /** By the name of the system. */
  readonly peers: Readonly<Record<string, number | undefined>>;
  readonly told?: (value: number) => string;
}

const time = (ms: number): string => (ms < 1000 ? `${figure(ms)} ms` : seconds(ms));
const CONCURRENCY = 100;
const RECLAIMED = 10_000;
const AS_USUAL = 2;

/** The figures that a reader wants first, and how far each is from the best peer's. */
export function headlineSection(results: Results): string {
  const rows = headlines(results).flatMap(({ what, is, ours, peers, told = figure }) => {
    const known = Object.entries(peers).flatMap(([name, value]) =>
      name === 'leasehold' || value === undefined ? [] : [{ name, value }],
    );
    const [best] = known.sort((a, b) => (is === 'better when lower' ? a.value - b.value : b.value - a.value));
    if (ours === undefined || best === undefined) return [];
    const isWorse = is === 'better when lower' ? ours > best.value : ours < best.value;
    const title = results.systems?.find(({ name }) => name === best.name)?.title ?? best.name;
    const which =
      known.length > 1 && known.every(({ value }) => value === best.value) ? 'all of them' : title;
    const mark = isWorse ? 'worse' : 'better';
    return [{ isWorse, cells: [what, told(ours), told(best.value), which, ratio(ours, best.value), mark] }];
  });
  const ordered = [...rows.filter((row) => !row.isWorse), ...rows.filter((row) => row.isWorse)];
  return table(
    ['what', 'Leasehold', 'best peer', 'which', 'Leasehold to it', 'Leasehold is'],
    ordered.map(({ cells }) => cells),
  );
}

function headlines(results: Results): Headline[] {
  const { crashDefault, crashFast, killedCell, poison, massReclaim, heartbeats } = results;
  const of = <T>(
    measured: Readonly<Record<string, T>> | undefined,
    value: (each: T) => number | undefined,
  ): Record<string, number | undefined> =>
    Object.fromEntries(Object.entries(measured ?? {}).map(([name, each]) => [name, value(each)]));
  const lower = (what: string, peers: Headline['peers'], more: Partial<Headline> = {}): Headline => ({
    what,
    is: 'better when lower',
    peers,
    ours: peers.leasehold,
    ...more,
  });
  const higher = (what: string, peers: Headline['peers']): Headline => ({
    ...{ what, is: 'better when higher', peers, ours: peers.leasehold },
  });
  const crashed = of(crashDefault, (each) => each.spread?.median);
  const cell = killedCell?.find(({ how, waiting }) => how === 'SIGKILL' && waiting === 0)?.spread?.median;
  const reclaims = (value: 'jobsPerSecond' | 'heldUpMs') =>
    of(massReclaim, (sizes) => sizes.find(({ jobs }) => jobs === RECLAIMED)?.[value]?.median);
  return [
    lower('a worker is killed, default settings: until its job runs again', crashed, { told: time }),
    lower(
      'the same with leases of ten seconds',
      of(crashFast, (each) => each.spread?.median),
      { told: time },
    ),
    lower('a job kills the process that its handler runs in: until it runs again', crashed, {
      ours: cell,
      told: time,
    }),
    higher(
      'nine neighbours of a job that kills its process: how many get done',
      of(poison, (each) => each.neighbours.done),
    ),
    ...shortJobs(results, { of, lower, higher }),
    higher(`${RECLAIMED.toLocaleString('en-US')} lapsed jobs: reclaimed a second`, reclaims('jobsPerSecond')),
    lower('a healthy operation beside that: held up, ms', reclaims('heldUpMs')),
    lower(
      'requests for the heartbeats of a running job, a minute',
      of(heartbeats, (each) => (each.leaseRenewed ? each.heartbeatsPerJobMinute?.median : undefined)),
    ),
  ];
}

type Tools = {
  of<T>(
    measured: Readonly<Record<string, T>> | undefined,
    value: (each: T) => number | undefined,
  ): Record<string, number | undefined>;
  lower(what: string, peers: Headline['peers']): Headline;
  higher(what: string, peers: Headline['peers']): Headline;
};

/** With the network in between, where that was measured. */
function shortJobs({ atLatency, steadyState }: Results, { of, lower, higher }: Tools): Headline[] {
  const wanted = ['jobsPerSecond', 'cpuMsPerJob', 'requestsPerJob'] as const;
  const [speed, cpu, requests] = wanted.map((figureOf) =>
    atLatency === undefined
      ? of(steadyState, (all) => all.find((each) => each.concurrency === CONCURRENCY)?.[figureOf]?.median)
      : of(
          atLatency,
          (all) =>
            all.find((each) => each.concurrency === CONCURRENCY && each.step === AS_USUAL)?.[figureOf]
              ?.median,
        ),
  );
  const at = `short jobs, ${CONCURRENCY} at once, ${atLatency === undefined ? 'no network' : 'with the network of a usual day'}`;
  return [
    higher(`${at}: jobs/s of one process`, speed ?? {}),
    lower(`${at}: CPU ms a job`, cpu ?? {}),
    lower(`${at}: requests a job`, requests ?? {}),
  ];
}
