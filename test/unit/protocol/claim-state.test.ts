import { describe, expect, it } from 'vitest';
import type { RowAtClaim } from '../../../lib/protocol/job.ts';
import { ClaimState } from '../../../lib/protocol/store/claim-state.ts';
import { slotKey } from '../../../lib/protocol/store/data-slots.ts';

const found: RowAtClaim = {
  ...{ createdAt: 1_000, pointsTo: {}, bytes: 600, checkpointBytes: 50, progressBytes: 30 },
  ...{ crashes: 0, lapses: 0, releases: 0 },
};
const stateOf = (over?: Partial<RowAtClaim>, attempt = 1) =>
  new ClaimState({
    ...{ jobId: 'j1', owner: 'w/1', attempt, startedAt: 0 },
    rowAtClaim: over && { ...found, ...over },
  });
/** The longest text for which the row has room. */
const roomFor = (state: ClaimState, name: 'checkpoint' | 'progress' | 'result') => {
  let length = 0;
  while (state.hasRoomFor(name, 'x'.repeat(length + 1))) length += 1;
  return length;
};

describe('the room on a claim’s row', () => {
  it('is a thousand bytes less the rest, including the name', () => {
    const state = stateOf({});
    expect(roomFor(state, 'checkpoint')).toBe(1_000 - 600 - 30 - 'checkpoint'.length);
    expect(roomFor(state, 'progress')).toBe(1_000 - 600 - 50 - 'progress'.length);
    expect(roomFor(state, 'result')).toBe(1_000 - 600 - 50 - 30 - 'result'.length);
  });

  it('is judged by a usual row where the claim does not know its own', () => {
    expect(roomFor(stateOf(), 'checkpoint')).toBe(1_000 - 550 - 'checkpoint'.length);
    expect(roomFor(stateOf(), 'result')).toBe(1_000 - 550 - 'result'.length);
  });

  it('shrinks with each write, and grows again', () => {
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

describe('the slots of a claim’s texts', () => {
  const places = ['c1', 'c2', 'c3'];
  const stage = () => {
    const state = stateOf();
    const unused = [...places];
    const take = (name: 'checkpoint' | 'progress' = 'checkpoint') =>
      state.takeSlot(name, () => unused.shift() ?? 'none');
    const saved = () => {
      const slot = take();
      state.wrote('checkpoint', {}, slot);
      return slotKey(slot);
    };
    return { state, take, saved };
  };

  it('are free again after a reply that settles where the row points', () => {
    const { take, saved } = stage();
    for (let i = 0; i < 7; i++) take();
    expect(saved()).toBe('c1.7');
    expect(Array.from({ length: 7 }, () => slotKey(take()))).toEqual([
      ...['c1.0', 'c1.1', 'c1.2', 'c1.3', 'c1.4', 'c1.5', 'c1.6'],
    ]);
    expect(slotKey(take())).toBe('c2.0');
  });

  it('are settled by a late reply only as far as it proves', () => {
    const { state, take } = stage();
    const [first, second] = [take(), take()];
    state.wrote('checkpoint', {}, second);
    state.wrote('checkpoint', {}, first);
    for (let i = 0; i < 7; i++) expect(slotKey(take())).toBe(`c1.${(i + 2) % 8}`);
    expect(slotKey(take())).toBe('c2.0');
    state.wrote('checkpoint', {}, second);
    expect(slotKey(take())).toBe('c2.1');
  });

  it('are apart for checkpoint and progress', () => {
    const { take } = stage();
    expect([slotKey(take()), slotKey(take('progress')), slotKey(take())]).toEqual(['c1.0', 'c2.0', 'c1.1']);
  });

  it('stay where they are when a text has room on the row', () => {
    const { state, saved } = stage();
    expect(saved()).toBe('c1.0');
    state.wrote('checkpoint', 'small');
    expect(saved()).toBe('c1.1');
  });
});
