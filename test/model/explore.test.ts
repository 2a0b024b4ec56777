import { describe, expect, it } from 'vitest';
import { FENCED, keeping, of, REAPED, removing, without } from '../simulation/alter-writes.ts';
import { isDeep } from '../support/depth.ts';
import { type Bounds, explore } from './explore.ts';
import { LOST_ONCE, SKEW, SOUND, type Variation } from './small-world.ts';

/** Delays and reordering of everything, two claims, a reclaim. */
const small: Bounds = {
  horizon: 4,
  claims: 2,
  beats: 0,
  reaps: 1,
  ...{ faults: 0, deaths: 0, offers: 0, saves: 0, operators: 0 },
};
/** And a heartbeat, and one write lost, repeated or unanswered, or one death: 1.7 million, which the deep run visits. */
const large: Bounds = { ...small, beats: 1, faults: 1 };

describe('every state that one job can get into, by the real writes', { timeout: 3_600_000 }, () => {
  it('keeps every promise, and leads to an end once everybody gets their turn', () => {
    const { states, broken } = explore(isDeep ? large : { ...small, horizon: 3 });
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(15_000);
    console.info(`visited ${states} states`);
  });

  /** Cells die, and their hosts end a claim and make the next by one write. What meets that, and what more of it in the deep run. */
  const restarts: [string, Partial<Bounds>, Partial<Bounds>][] = [
    [
      'beside a reaper, and any request may be lost, repeated or unanswered',
      { faults: 1 },
      { claims: 2, faults: 0 },
    ],
    ['and is offered again while nobody answers', { offers: 1 }, { faults: 1 }],
    ['and an operator takes the job back, or cancels it', { operators: 1, reaps: 0 }, { faults: 1 }],
    ['and progress forgives the death', { saves: 1 }, { faults: 1 }],
  ];
  it.each(restarts.filter((_, i) => isDeep || i % 3 === 0))(
    'keeps every promise when a host restarts a job %s',
    (name, bounds, deep) => {
      const restarting = {
        ...small,
        horizon: 3,
        claims: 1,
        deaths: 1,
        ...bounds,
        ...(isDeep ? { horizon: 4, ...deep } : undefined),
      };
      const { states, broken } = explore(restarting);
      expect(broken).toBeUndefined();
      expect(states).toBeGreaterThan(10_000);
      console.info(`${name}: visited ${states} states`);
    },
  );

  const alter = (change: Variation['alter']): Variation => ({ ...SOUND, alter: change });
  it.each<[string, Variation, Partial<Bounds>, RegExp]>([
    [
      'a worker’s writes name no claim',
      alter(of(FENCED, without('leaseOwner', 'attempt'))),
      {},
      /stale write/,
    ],
    [
      'a reaper’s writes name no lease',
      alter(of(REAPED, without('leaseUntil'))),
      { beats: 1 },
      /live lease was taken/,
    ],
    [
      'the reaper allows for a tick less than the skew',
      { ...SOUND, allowedSkew: SKEW - 1 },
      {},
      /live lease was taken/,
    ],
    [
      'a worker claims what is running',
      alter(of(['claim'], without('status', 'notBefore'))),
      {},
      /two live leases/,
    ],
    ['release forgets the index key', alter(of(['release'], removing('leaseUntil'))), {}, /leased to nobody/],
    ['complete leaves the row in the index', alter(of(['complete'], keeping('leaseUntil'))), {}, /for ever/],
    [
      'a restart names no claim',
      alter(of(['restart'], without('leaseOwner', 'attempt'))),
      { deaths: 1 },
      /stale write|two live leases/,
    ],
    [
      'a restart keeps its attempt',
      alter(
        of(['restart'], (write) => ({
          ...write,
          set: { ...write.set, attempt: Number(write.set.attempt) - 1 },
        })),
      ),
      { deaths: 1 },
      /the attempt is wrong/,
    ],
    [
      'a restart does not ask whether the job is still running',
      alter(of(['restart'], without('leaseOwner', 'attempt', 'status'))),
      { claims: 1, deaths: 1, operators: 1, reaps: 0 },
      /stale write/,
    ],
    [
      'the lease of a restarted claim is counted from the last offer of it',
      { ...SOUND, countsFromLastOffer: true },
      { claims: 1, deaths: 1, offers: 1, faults: 1, horizon: 5 },
      /live lease was taken/,
    ],
    [
      'a reaper’s writes do not name the lapses that it saw',
      alter(of(REAPED, without('lapses'))),
      { claims: 1, saves: 1, row: LOST_ONCE },
      /lapses came back/,
    ],
    [
      'reclaim leaves the queue no lease to speak of',
      alter(of(['reclaim'], (write) => ({ ...write, set: { ...write.set, leaseUntil: 1e9 } }))),
      { faults: 1 },
      /never ends/,
    ],
  ])('shows what breaks when %s, by a shortest path', (_, variation, more, promise) => {
    const { broken } = explore({ ...small, ...more }, variation);
    expect(broken?.promise).toMatch(promise);
    expect(broken?.path.length).toBeLessThan(16);
  });
});
