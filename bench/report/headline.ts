import { PARTS } from '../scenarios/parts.ts';
import { duration, figure, table } from './markdown.ts';
import { earlierLease, type Results, titleOf } from './results.ts';
import { pointOf } from './throughput.ts';

/** One figure of Leasehold's next to the best peer's. */
interface Headline {
  readonly what: string;
  readonly is: 'better when lower' | 'better when higher';
  readonly ours: number | undefined;
  /** By the name of the system. */
  readonly peers: Readonly<Record<string, number | undefined>>;
  readonly told?: (value: number) => string;
  /** One of the five that the README shows. */
  readonly isFirst?: true;
}

interface Compared extends Omit<Headline, 'ours'> {
  readonly ours: number;
  readonly best: number;
  readonly which: string;
  readonly verdict: 'better' | 'equal' | 'worse';
}

const CONCURRENCY = 100;
const RECLAIMED = 10_000;
const AS_USUAL = 2;
const ORDER = ['better', 'equal', 'worse'] as const;

/** The figures that a reader wants first, and how far each is from the best peer's. */
export const headlineSection = (results: Results): string =>
  table(
    ['what', 'Leasehold', 'best peer', 'which', 'Leasehold is'],
    compared(results).map(({ what, ours, best, which, verdict, told = figure }) => [
      ...[what, told(ours), told(best), which, verdict],
    ]),
  );

/** Five of them for the README, measured together in one run. */
export function readmeSection({ headline, systems, parts }: Results): string {
  const first = compared({ ...headline, systems }).filter(({ isFirst }) => isFirst);
  const figures = table(
    ['', 'Leasehold', 'best peer'],
    first.map(({ what, ours, best, which, told = figure }) => [
      what,
      `**${told(ours)}**`,
      `${told(best)}, ${which}`,
    ]),
  );
  const { minutes } = PARTS.headline;
  return `${figures}\n\nMeasured on ${parts?.headline?.date ?? '–'}. In a clone, \`npm run bench -- --only headline\` measures it again in at most ${minutes} minutes.`;
}

/** What Leasehold is best at first; what was not measured of it or of any peer is left out. */
function compared(results: Results): Compared[] {
  const all = headlines(results).flatMap((headline): Compared[] => {
    const { is, ours, peers } = headline;
    const known = Object.entries(peers).flatMap(([name, value]) =>
      name === 'leasehold' || value === undefined ? [] : [{ name, value }],
    );
    const [best] = known.sort((a, b) => (is === 'better when lower' ? a.value - b.value : b.value - a.value));
    if (ours === undefined || best === undefined) return [];
    const isLower = ours < best.value;
    const isBetter = is === 'better when lower' ? isLower : !isLower;
    const verdict = ours === best.value ? 'equal' : isBetter ? 'better' : 'worse';
    const areAll = known.length > 1 && known.every(({ value }) => value === best.value);
    return [
      {
        ...headline,
        ours,
        best: best.value,
        which: areAll ? 'every peer' : titleOf(results, best.name),
        verdict,
      },
    ];
  });
  return ORDER.flatMap((verdict) => all.filter((each) => each.verdict === verdict));
}

const of = <T>(
  measured: Readonly<Record<string, T>> | undefined,
  value: (each: T) => number | undefined,
): Headline['peers'] =>
  Object.fromEntries(Object.entries(measured ?? {}).map(([name, each]) => [name, value(each)]));

type More = Partial<Headline>;
const lower = (what: string, peers: Headline['peers'], more: More = {}): Headline => ({
  ...{ what, is: 'better when lower', peers, ours: peers.leasehold, ...more },
});
const higher = (what: string, peers: Headline['peers'], more: More = {}): Headline => ({
  ...{ what, is: 'better when higher', peers, ours: peers.leasehold, ...more },
});

const headlines = (results: Results): Headline[] => [
  ...recoveries(results),
  ...afterFaults(results),
  ...shortJobs(results),
  ...upkeep(results),
];

function recoveries({ crashDefault, crashFast, killedCell, killedCelery, poison }: Results): Headline[] {
  const crashed = of(crashDefault, (each) => each.spread?.median);
  const cell = killedCell?.find(({ how, waiting }) => how === 'SIGKILL' && waiting === 0)?.spread?.median;
  const told = duration;
  return [
    lower(
      'a job kills its process: time until it runs again',
      { ...crashed, Celery: killedCelery?.median },
      { ours: cell, told, isFirst: true },
    ),
    higher(
      'nine neighbors of a job that kills its process: how many finish',
      of(poison, (each) => each.neighbors.done),
      { isFirst: true },
    ),
    lower(
      `a worker is killed, ${earlierLease(crashDefault) ?? 'default settings'}: time until its job runs again`,
      crashed,
      {
        told,
        isFirst: true,
      },
    ),
    lower(
      'a worker is killed, leases of ten seconds: time until its job runs again',
      of(crashFast, (each) => each.spread?.median),
      { told },
    ),
  ];
}

function afterFaults({ faults, hung }: Results): Headline[] {
  const told = duration;
  return [
    lower(
      'two processes with 40 jobs of 20 s are killed: time until all jobs are done',
      of(faults, ({ everything: { done, doneAfterMs } }) => (done === 40 ? doneAfterMs?.median : undefined)),
      { told, isFirst: true },
    ),
    lower(
      'new jobs in the next two minutes: median wait',
      of(faults, ({ everything: { fresh } }) => fresh?.medianMs),
      { told },
    ),
    lower(
      'the same 40 jobs, with the store unreachable for 16 s: time until all are done',
      of(faults, ({ outage: { done, doneAfterMs } }) => (done === 40 ? doneAfterMs?.median : undefined)),
      { told },
    ),
    higher(
      'nine neighbors of a job that hangs: how many finish',
      of(hung, ({ neighborsDone }) => neighborsDone),
    ),
  ];
}

/** With network latency. */
function shortJobs({ atLatency }: Results): Headline[] {
  const wanted = (figureOf: 'jobsPerSecond' | 'cpuMsPerJob' | 'requestsPerJob') =>
    of(atLatency, (all) => pointOf(all, { concurrency: CONCURRENCY, step: AS_USUAL })?.[figureOf]?.median);
  const at = `short jobs, concurrency ${CONCURRENCY}, typical network latency`;
  return [
    higher(`${at}: jobs/s of one process`, wanted('jobsPerSecond'), { isFirst: true }),
    lower(`${at}: CPU ms per job`, wanted('cpuMsPerJob')),
    lower(`${at}: requests per job`, wanted('requestsPerJob')),
  ];
}

function upkeep({ massReclaim, heartbeats }: Results): Headline[] {
  const reclaims = (value: 'jobsPerSecond' | 'heldUpMs') =>
    of(massReclaim, (sizes) => sizes.find(({ jobs }) => jobs === RECLAIMED)?.[value]?.median);
  return [
    higher(
      `${RECLAIMED.toLocaleString('en-US')} lapsed jobs: reclaimed per second`,
      reclaims('jobsPerSecond'),
      {},
    ),
    lower('a healthy operation meanwhile: delayed by', reclaims('heldUpMs'), {
      told: duration,
    }),
    lower(
      ['heartbeat requests per running job and minute', earlierLease(heartbeats)].filter(Boolean).join(', '),
      of(heartbeats, (each) => (each.leaseRenewed ? each.heartbeatsPerJobMinute?.median : undefined)),
    ),
  ];
}
