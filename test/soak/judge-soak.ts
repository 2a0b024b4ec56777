import type { Job } from '../../lib/protocol/job.ts';
import type { SoakSample } from './soak-sample.ts';

/** What has to stay as it is, and by how much it may grow over the part of the run that is judged. */
interface Quantity {
  readonly name: string;
  readonly of: (sample: SoakSample) => number | undefined;
  /** Of its own median. */
  readonly share: number;
  /** In its own unit: what is small may grow by this much all the same. */
  readonly least: number;
}

const MEMORY = { share: 0.1, least: 5 };
const HANDLES = { share: 0.1, least: 5 };
/** Connections come and go with the load of the machine; a leak, in tens of thousands of jobs, is far beyond that. */
const CONNECTIONS = { share: 0.1, least: 30 };
const quantities: readonly Quantity[] = [
  { name: 'host, RSS in MB', of: ({ hostRssMb }) => hostRssMb, ...MEMORY },
  { name: 'host, own memory in MB', of: ({ hostOwnMb }) => hostOwnMb, ...MEMORY },
  { name: 'host, heap held in MB', of: ({ heldMb }) => heldMb, ...MEMORY },
  { name: 'cells, RSS in MB', of: ({ cellsRssMb }) => cellsRssMb, ...MEMORY },
  { name: 'cells, own memory in MB', of: ({ cellsOwnMb }) => cellsOwnMb, ...MEMORY },
  { name: 'host, descriptors', of: ({ hostDescriptors }) => hostDescriptors, ...CONNECTIONS },
  { name: 'cells, descriptors', of: ({ cellsDescriptors }) => cellsDescriptors, ...HANDLES },
  { name: 'host, timers and sockets', of: ({ resources }) => resources, ...CONNECTIONS },
  { name: 'processes', of: ({ processes }) => processes, share: 0, least: 0.5 },
  { name: 'leases in the table', of: ({ leases }) => leases, share: 0.01, least: 1 },
  // As many as are being claimed or completed at the moment.
  { name: 'leases beyond jobs', of: ({ leases, running }) => leases - running, share: 0, least: 5 },
];

/** How one quantity went. */
export interface Trend {
  readonly name: string;
  readonly secondQuarter: number;
  readonly lastQuarter: number;
  readonly most: number;
  /** Over the part that is judged, by the median of all slopes. */
  readonly growth: number;
  readonly allowed: number;
}

/** A start takes this much of a run: pools fill, code is compiled, heaps find their size. */
const START = 0.25;
/** Of this many samples every pair is looked at. */
const ENOUGH = 400;
/** Leases and running jobs that may be apart, as a share of the jobs. */
const APART = 0.01;

/** Each quantity's course after the start. */
export function trendsOf(samples: readonly SoakSample[]): readonly Trend[] {
  const endMs = samples.at(-1)?.atMs ?? 0;
  return quantities.flatMap(({ name, of, share, least }) => {
    const points = samples.flatMap((sample) => {
      const value = of(sample);
      return value === undefined || sample.atMs < endMs * START ? [] : [{ at: sample.atMs / endMs, value }];
    });
    if (points.length < 2) return [];
    const between = (from: number, to: number) =>
      medianOf(points.filter(({ at }) => at >= from && at <= to).map(({ value }) => value));
    return {
      name,
      secondQuarter: between(START, 0.5),
      lastQuarter: between(0.75, 1),
      most: Math.max(...points.map(({ value }) => value)),
      growth: slopeOf(points) * (1 - START),
      allowed: Math.max(least, share * medianOf(points.map(({ value }) => value))),
    };
  });
}

/** What was not flat, and whether so many jobs ran all the time. */
export function trendProblems(samples: readonly SoakSample[], jobs: number): readonly string[] {
  const problems = trendsOf(samples)
    .filter(({ growth, allowed }) => growth > allowed)
    .map(
      ({ name, growth, allowed }) => `${name}: grew by ${growth.toFixed(1)}, allowed ${allowed.toFixed(1)}`,
    );
  const later = samples.filter(({ atMs }) => atMs >= (samples.at(-1)?.atMs ?? 0) * START);
  const running = medianOf(later.map((sample) => sample.running));
  if (running < jobs * (1 - APART)) problems.push(`${running} jobs ran at once, not ${jobs}`);
  const apart = medianOf(later.map((sample) => Math.abs(sample.leases - sample.running)));
  if (apart > jobs * APART) problems.push(`leases and running jobs are ${apart} apart`);
  return problems;
}

/** In peace nothing is charged and no lease lapses. */
export function jobProblems(jobs: readonly Job[]): readonly string[] {
  return jobs.flatMap(({ jobId, status, attempt, errors, crashes, releases, claims }) => {
    const lapsed = claims.filter(({ outcome }) => outcome === 'lapsed').length;
    const isSound = status === 'done' && attempt === 1 && errors + crashes + releases + lapsed === 0;
    const counts = `${attempt} claims, ${lapsed} lapsed, ${errors} errors, ${crashes} crashes, ${releases} releases`;
    return isSound ? [] : [`${jobId} is ${status}: ${counts}`];
  });
}

/** The median of the slopes of all pairs (Theil and Sen): a few wild samples do not move it. */
function slopeOf(points: readonly { readonly at: number; readonly value: number }[]): number {
  const every = Math.ceil(points.length / ENOUGH);
  const some = points.filter((_, i) => i % every === 0);
  return medianOf(
    some.flatMap((from, i) => some.slice(i + 1).map((to) => (to.value - from.value) / (to.at - from.at))),
  );
}

export function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}
