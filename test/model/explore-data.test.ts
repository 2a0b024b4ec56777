import { describe, expect, it } from 'vitest';
import { of, without } from '../simulation/alter-writes.ts';
import { isDeep } from '../support/depth.ts';
import { type DataVariation, SOUND_DATA, slotOf } from './data-world.ts';
import { type DataBounds, exploreData } from './explore-data.ts';

const NONE: DataBounds = { claim: 0, save: 0, report: 0, complete: 0, takeBack: 0, restart: 0, faults: 0 };
/** What meets in each world: all orders of it are tried. */
const worlds: [string, Partial<DataBounds>][] = [
  ['two messages for one job', { claim: 3, takeBack: 1, faults: 1 }],
  ['checkpoints and their lost replies', { claim: 1, save: 4, faults: 2 }],
  ['a zombie that goes on saving', { claim: 2, save: 3, takeBack: 1, faults: 1 }],
  ['a restart in between', { claim: 1, save: 2, restart: 1, complete: 1, faults: 1 }],
  ['checkpoints that take every slot twice', { claim: 1, save: 5, faults: 2 }],
  ['progress between checkpoints', { claim: 1, save: 3, report: 2, faults: 1 }],
  ['the end, by two claims', { claim: 2, save: 1, takeBack: 1, complete: 2, faults: 1 }],
];
if (isDeep)
  worlds.push(
    ['a zombie with more checkpoints than slots', { claim: 2, save: 4, takeBack: 1, faults: 1 }],
    ['progress and lost replies between checkpoints', { claim: 1, save: 3, report: 2, faults: 2 }],
    ['all of it', { claim: 2, save: 3, report: 1, takeBack: 1, restart: 1, complete: 1 }],
  );

describe('every state that the data of one job can get into, by the real writes', () => {
  it.each(worlds)('keeps its promises: %s', (name, bounds) => {
    const { states, broken } = exploreData({ ...NONE, ...bounds });
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(100);
    console.info(`${name}: visited ${states} states`);
  });

  const alter = (change: DataVariation['alter']): DataVariation => ({ ...SOUND_DATA, alter: change });
  const slots = (nextSlot: DataVariation['nextSlot']): DataVariation => ({ ...SOUND_DATA, nextSlot });
  /** Slots in turn, as if the row were known to point to none of them. */
  const inTurn = (size: number) =>
    slots(({ attempt, slots: known }, id) =>
      slotOf(known && { ...known, settled: known.taken }, `c${attempt}${id}`, size),
    );

  it.each<[string, DataVariation, Partial<DataBounds>, RegExp]>([
    ['a claim’s checkpoints share one slot', inTurn(1), { claim: 1, save: 2 }, /another’s or an older one/],
    [
      'slots are taken in turn, though replies were lost',
      inTurn(2),
      { claim: 1, save: 3, faults: 1 },
      /another’s or an older one/,
    ],
    [
      'slots are counted by checkpoints and reports of progress together',
      slots(({ attempt, slots: known, seq }, id) => {
        const { slots: taken } = slotOf(known, `c${attempt}${id}`);
        return { slots: taken, place: `${taken.place}.${seq % 2}` };
      }),
      { claim: 1, save: 2, report: 1 },
      /another’s or an older one/,
    ],
    [
      'a claim takes the slot to which the row has pointed since an earlier claim',
      { ...SOUND_DATA, firstSlots: () => ({ place: 'c0.0', taken: 0, settled: 0 }) },
      { claim: 2, save: 2, takeBack: 1 },
      /another’s or an older one/,
    ],
    [
      'a later claim’s data is not fenced against an earlier claim',
      alter(
        of(['putData'], (write) => ({
          ...write,
          when: write.when.map((all) => all.filter(({ attribute }) => attribute !== 'attempt')),
        })),
      ),
      { claim: 2, save: 4, takeBack: 1 },
      /another’s or an older one/,
    ],
    [
      'an older checkpoint may replace a newer one',
      alter(of(['putData'], (write) => ({ ...write, when: [[]] }))),
      { claim: 1, save: 3, faults: 1 },
      /another’s or an older one/,
    ],
    [
      'the pointer is outside the fence',
      alter(of(['checkpoint'], without('leaseOwner', 'attempt'))),
      { claim: 2, save: 1, takeBack: 1 },
      /stale write/,
    ],
    [
      'the pointer does not wait for the data',
      { ...SOUND_DATA, pointerFirst: true },
      { claim: 1 },
      /is not there/,
    ],
    [
      'a second message replaces the payload',
      alter(of(['claim'], (write) => ({ ...write, set: { ...write.set, ...write.keep }, keep: {} }))),
      { claim: 2, takeBack: 1 },
      /its payload is another’s/,
    ],
  ])('shows what breaks when %s, by a shortest path', (_, variation, bounds, promise) => {
    const { broken } = exploreData({ ...NONE, ...bounds }, variation);
    expect(broken?.promise).toMatch(promise);
    expect(broken?.path.length).toBeLessThan(16);
  });
});
