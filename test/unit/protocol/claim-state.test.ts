import { describe, expect, it } from 'vitest';
import type { FoundRow } from '../../../lib/protocol/job.ts';
import { ClaimState, placeText } from '../../../lib/protocol/store/claim-state.ts';

const found: FoundRow = {
  ...{ bytes: 600, checkpointBytes: 50, progressBytes: 30, crashes: 0, releases: 0 },
  ...{ excuses: 0, expiresSoon: false },
};
const stateOf = (over?: Partial<FoundRow>) =>
  new ClaimState({
    ...{ jobId: 'j1', owner: 'w/1', attempt: 1, startedAt: 0 },
    found: over && { ...found, ...over },
  });
/** The longest text for which the row has room. */
const roomFor = (state: ClaimState, name: 'checkpoint' | 'progress' | 'result') => {
  let length = 0;
  while (state.hasRoomFor(name, 'x'.repeat(length + 1))) length += 1;
  return length;
};

describe('the room on a claim’s row', () => {
  it('is what a thousand bytes leave beside the rest, the name included', () => {
    const state = stateOf({});
    expect(roomFor(state, 'checkpoint')).toBe(1_000 - 600 - 30 - 'checkpoint'.length);
    expect(roomFor(state, 'progress')).toBe(1_000 - 600 - 50 - 'progress'.length);
    expect(roomFor(state, 'result')).toBe(1_000 - 600 - 50 - 30 - 'result'.length);
  });

  it('is judged by a usual row where the claim does not know its own', () => {
    expect(roomFor(stateOf(), 'checkpoint')).toBe(1_000 - 550 - 'checkpoint'.length);
    expect(roomFor(stateOf(), 'result')).toBe(1_000 - 550 - 'result'.length);
  });

  it('shrinks by what was written since, and grows again', () => {
    const state = stateOf({});
    state.wrote('progress', 'x'.repeat(92));
    expect(roomFor(state, 'checkpoint')).toBe(1_000 - 600 - 100 - 'checkpoint'.length);
    state.wrote('checkpoint', 'x'.repeat(190));
    expect(roomFor(state, 'progress')).toBe(1_000 - 600 - 200 - 'progress'.length);
    expect(roomFor(state, 'result')).toBe(1_000 - 600 - 300 - 'result'.length);
    state.wrote('checkpoint', 'x'.repeat(10));
    expect(roomFor(state, 'progress')).toBe(1_000 - 600 - 20 - 'progress'.length);
  });
});

describe('the places of a claim’s texts', () => {
  it('are the two of a pair in turn, by the one that the row points to', () => {
    const state = stateOf();
    const next = () => state.nextPlace('checkpoint', () => 'c1');
    expect(next()).toEqual({ pair: 'c1', slot: 0 });
    state.pointsTo('checkpoint', next());
    expect(next()).toEqual({ pair: 'c1', slot: 1 });
    // Until the row points to it, it may be written again.
    expect(next()).toEqual({ pair: 'c1', slot: 1 });
    state.pointsTo('checkpoint', next());
    expect(next()).toEqual({ pair: 'c1', slot: 0 });
  });

  it('are of a new pair where nobody knows to which one the row points', () => {
    const state = stateOf();
    const pairs = ['c1', 'c2'];
    const next = () => state.nextPlace('checkpoint', () => pairs.shift() ?? 'none');
    state.pointsTo('checkpoint', next());
    state.pointsTo('checkpoint', undefined);
    expect(next()).toEqual({ pair: 'c2', slot: 0 });
  });

  it('are apart for each text, and have a name each', () => {
    const state = stateOf();
    state.pointsTo('checkpoint', { pair: 'c1', slot: 0 });
    expect(state.nextPlace('progress', () => 'g1')).toEqual({ pair: 'g1', slot: 0 });
    expect([placeText({ pair: 'c1', slot: 0 }), placeText({ pair: 'c1', slot: 1 })]).toEqual([
      'c1.0',
      'c1.1',
    ]);
  });
});
