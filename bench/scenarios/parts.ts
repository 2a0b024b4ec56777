/** One part of the bench: what it tells, and how long it takes at most on a quiet machine of two cores. */
interface Part {
  readonly minutes: number;
  readonly what: string;
}

/** The parts by the names that `--only` takes, in the order of a run. Each keeps its figures until it is measured again. */
export const PARTS = {
  headline: { minutes: 15, what: 'the README’s table; not part of a whole run' },
  crash: { minutes: 8, what: 'a worker is killed, default and fast settings' },
  cells: {
    minutes: 10,
    what: 'a job’s code ends its process, in six ways; Celery where it can be installed',
  },
  fleet: { minutes: 7, what: 'Leasehold’s fleet with a fault, and fresh jobs beside trouble' },
  faults: {
    minutes: 16,
    what: 'every system’s fleet after a crash of everything and a store outage of 16 s',
  },
  hung: { minutes: 5, what: 'a handler that never comes back' },
  init: { minutes: 1, what: 'the worker function’s start' },
  latency: { minutes: 7, what: 'short jobs, with and without the network in between' },
  mass: { minutes: 14, what: 'thousands of lapsed leases' },
  own: { minutes: 2, what: 'Leasehold’s own time a job' },
  lambda: { minutes: 2, what: 'the worker function’s own time a message' },
  limits: { minutes: 3, what: 'a quiet tenant next to a noisy one, and what one limit lets through' },
  savings: { minutes: 1, what: 'bundles, and requests of a reclaim' },
  scaling: { minutes: 4, what: 'a sweep against what is in the table' },
  outlive: { minutes: 4, what: 'a healthy job longer than its lease' },
  counts: { minutes: 5, what: 'heartbeats, zombie and poison job: counted, so they run at the same time' },
  units: {
    minutes: 1,
    what: 'bytes and capacity units of each transition and of heartbeats; shards, simulated',
  },
} as const satisfies Record<string, Part>;

export type PartName = keyof typeof PARTS;

/** What a run without `--only` measures. */
export const wholeRun = Object.keys(PARTS).filter((name) => name !== 'headline');

export const isPart = (name: string): name is PartName => Object.hasOwn(PARTS, name);
