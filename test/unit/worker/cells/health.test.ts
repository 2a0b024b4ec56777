import { describe, expect, it } from 'vitest';
import { type RecentEnds, standsOut } from '../../../../lib/worker/cells/host/health.ts';

const endsOf = (failed: number, ended: number): RecentEnds => [
  ...Array<boolean>(failed).fill(true),
  ...Array<boolean>(ended).fill(false),
];

describe('the failures of a cell', () => {
  it.each([
    ['half of them fail, and none elsewhere', [5, 5], [0, 20], true],
    ['too few fail', [4, 0], [0, 20], false],
    ['less than half fail', [5, 6], [0, 20], false],
    ['too little is known of the others', [5, 0], [0, 19], false],
    ['others fail as well', [8, 0], [6, 14], false],
    ['others hardly fail', [8, 0], [5, 15], true],
  ] as const)('stand out or not: %s', (_, [failed, ended], [otherFailed, otherEnded], isSo) => {
    expect(standsOut(endsOf(failed, ended), [endsOf(otherFailed, otherEnded)])).toBe(isSo);
  });
});
