import { describe, expect, it } from 'vitest';
import type { RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { JsonValue } from '../../lib/wire/message.ts';
import { of, without } from '../simulation/alter-writes.ts';
import { isDeep } from '../support/depth.ts';
import { type DataVariation, SOUND_DATA } from './data-world.ts';
import { type DataBounds, exploreData } from './explore-data.ts';

const NONE: DataBounds = { claim: 0, save: 0, tidy: 0, complete: 0, takeBack: 0, restart: 0, faults: 0 };
/** What meets in each world: all orders of it are tried. */
const worlds: [string, Partial<DataBounds>][] = [
  ['two messages for one job', { claim: 3, takeBack: 1, faults: 1 }],
  ['checkpoints and their lost replies', { claim: 1, save: 3, faults: 2 }],
  ['a zombie that goes on saving', { claim: 2, save: 3, takeBack: 1 }],
  ['a restart in between', { claim: 1, save: 2, restart: 1, complete: 1, faults: 1 }],
  ['data that is renewed while it is saved', { claim: 1, save: 2, tidy: 1, faults: 1 }],
  ['the end, by two claims', { claim: 2, save: 1, takeBack: 1, complete: 2, faults: 1 }],
];
if (isDeep) worlds.push(['all of it', { claim: 2, save: 2, tidy: 1, takeBack: 1, restart: 1, complete: 1 }]);

describe('every state that the data of one job can get into, by the real writes', () => {
  it.each(worlds)('keeps its promises: %s', (name, bounds) => {
    const { states, broken } = exploreData({ ...NONE, ...bounds });
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(100);
    console.info(`${name}: visited ${states} states`);
  });

  const alter = (change: DataVariation['alter']): DataVariation => ({ ...SOUND_DATA, alter: change });
  const inOnePlace = (text: string) => text.replace(/\.1$/, '.0');
  const overwritten = (write: RowWrite): RowWrite => {
    if (write.transition === 'replaceData') return { ...write, jobId: inOnePlace(write.jobId) };
    const pointer = write.set.checkpoint as Readonly<Record<string, JsonValue>> | undefined;
    if (write.transition !== 'checkpoint' || pointer === undefined) return write;
    return {
      ...write,
      set: { ...write.set, checkpoint: { ...pointer, in: inOnePlace(String(pointer.in)) } },
    };
  };

  it.each<[string, DataVariation, Partial<DataBounds>, RegExp]>([
    ['data is overwritten in place', alter(overwritten), { claim: 1, save: 2 }, /another’s or an older one/],
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
      'a claim’s checkpoints have the same two places for ever',
      { ...SOUND_DATA, pair: (attempt) => `c${attempt}` },
      { claim: 1, save: 3, faults: 1 },
      /another’s or an older one/,
    ],
    [
      'what renews data may put an older checkpoint back',
      alter(of(['tidy'], without('checkpointSeq'))),
      { claim: 1, save: 2, tidy: 1 },
      /another’s or an older one/,
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
