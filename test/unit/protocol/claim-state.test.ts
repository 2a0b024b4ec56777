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
  it('are settled by a late reply only as far as it proves', () => {
    const state = stateOf();
    const unused = ['c1', 'c2'];
    const take = () => state.takeSlot('checkpoint', () => unused.shift() ?? 'none');
    const [first, second] = [take(), take()];
    state.wrote('checkpoint', {}, second);
    state.wrote('checkpoint', {}, first);
    for (let i = 0; i < 7; i++) expect(slotKey(take())).toBe(`c1.${(i + 2) % 8}`);
    expect(slotKey(take())).toBe('c2.0');
    state.wrote('checkpoint', {}, second);
    expect(slotKey(take())).toBe('c2.1');
  });
});
