import { LeaseLost } from '../../lib/worker/abort-reasons.ts';
import type { Heart, HeldLease } from '../../lib/worker/run/heart-loop.ts';
import { type ClockReading, readClock } from '../../lib/worker/run/lease-clock.ts';
import { of, REAPED, without } from './alter-writes.ts';
import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';

const YEAR_MS = 365 * 24 * 3_600_000;

/** The lease, renewed in another way. */
const renewedBy = (lease: HeldLease['lease'], renew: HeldLease['lease']['renew']): HeldLease['lease'] => ({
  renew,
  refuse: () => lease.refuse(),
  isHeld: () => lease.isHeld(),
  hasEnded: () => lease.hasEnded(),
  sinceRenewalMs: () => lease.sinceRenewalMs(),
});

/** Renewed for a year each time, while the heart still beats as often. */
function heldForAYear(lease: HeldLease['lease']): HeldLease['lease'] {
  let ahead = 0;
  const renew = ({ wall, monotonic }: ClockReading) => {
    ahead = YEAR_MS;
    lease.renew({ wall: wall + ahead, monotonic: monotonic + ahead });
  };
  return { ...renewedBy(lease, renew), sinceRenewalMs: () => lease.sinceRenewalMs() + ahead };
}

/** The heart, whose leases have other leases. */
const withLeases = (heart: Heart, altered: (lease: HeldLease['lease']) => HeldLease['lease']): Heart => ({
  start: (held) => heart.start({ ...held, lease: altered(held.lease) }),
  stop: (claim) => heart.stop(claim),
  quiet: () => heart.quiet(),
  close: () => heart.close(),
});

/** Until when: mistakes after which two workers think that the job is theirs. */
export const leaseBugs: readonly PlantedBug[] = [
  {
    name: 'the reaper does not check that the lease is as it saw it',
    searchFrom: 63,
    breaks: /lease taken from/,
    alterWrite: of(REAPED, without('leaseUntil')),
    rates: { indexLags: 3 },
  },
  {
    name: 'the reaper allows for no clock skew',
    searchFrom: 470,
    breaks: /lease taken from|two live leases/,
    reaperSettings: { skewMs: 0 },
    rates: { ...QUIET, partitioned: 5 },
  },
  {
    name: 'the lease is counted from the reply of a heartbeat instead of its sending',
    searchFrom: 5292,
    breaks: /lease taken from|two live leases/,
    rates: { ...QUIET, replySlow: 17, partitioned: 5 },
    alterHeart: (heart, process) =>
      withLeases(heart, (lease) => renewedBy(lease, () => lease.renew(readClock(process.clock)))),
  },
  {
    name: 'a worker does not stop itself when its lease ends',
    searchFrom: 4089,
    breaks: /lease taken from|two live leases/,
    alterHeart: (heart) => withLeases(heart, heldForAYear),
    rates: { partitioned: 3 },
  },
  {
    name: 'a job is left to the reaper although a late beat has kept its lease',
    // It takes a freeze that ends within the last few ms of the lease.
    searchFrom: 600_012_648,
    size: 'brief',
    breaks: /could have stored that/,
    alterCells: (cells) => ({
      ...cells,
      start(work) {
        const run = cells.start(work);
        const abort: typeof run.abort = (reason) => {
          if (reason instanceof LeaseLost) work.lease.refuse();
          run.abort(reason);
        };
        return { ...run, abort };
      },
    }),
  },
  {
    name: 'a late heartbeat may shorten the lease',
    searchFrom: 239,
    breaks: /a heartbeat shortened the lease/,
    alterWrite: of(['heartbeat'], without('leaseUntil')),
    rates: { requestLate: 3 },
  },
  {
    name: 'a worker takes a running job over',
    breaks: /claimed while running/,
    alterWrite: of(['claim'], (write) => ({
      ...write,
      when: [...write.when, [{ attribute: 'status', is: 'equal', value: 'running' }]],
    })),
  },
  {
    name: 'a job is claimed before it is due',
    breaks: /too early/,
    alterWrite: of(['claim'], without('notBefore')),
    rates: { dies: 0, diesAtAwait: 0 },
  },
  {
    name: 'a job to be cancelled is claimed',
    breaks: /claimed although it is to be cancelled/,
    alterWrite: of(['claim'], without('cancelRequested')),
    rates: { operatorCancels: 3 },
  },
];
