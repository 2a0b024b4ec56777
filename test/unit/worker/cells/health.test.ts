import { describe, expect, it } from 'vitest';
import { type RecentEnds, standsOut } from '../../../../lib/worker/cells/host/health.ts';
import { puppetPool } from '../../../support/puppet-pool.ts';

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

  it('retire it where they stand out, and the job that shows it is not charged', async () => {
    const { start, ready, finish, at, jobsOf, telemetry } = puppetPool({ cells: 2, concurrency: 2 });
    ready(0, 1);
    const first = start('kept');
    expect(jobsOf(0)).toEqual(['kept']);
    for (let n = 0; n < 20; n++) {
      start(`ok-${n}`);
      await finish(1, `ok-${n}`);
    }
    start('blocks');
    await finish(0, 'kept');
    expect(first.ends).toMatchObject([{ kind: 'returned' }]);
    for (let n = 0; n < 4; n++) {
      const { ends } = start(`bad-${n}`, { isExcusable: true });
      await finish(0, `bad-${n}`, 'threw');
      expect(ends).toMatchObject([{ kind: 'threw' }]);
    }
    const { ends } = start('bad-4', { isExcusable: true });
    await finish(0, 'bad-4', 'threw');
    expect(ends).toMatchObject([{ kind: 'died', crashedAlone: false }]);
    expect(telemetry.lines.some(({ message }) => message === 'a cell is retired')).toBe(true);
    expect(at(0).done.ended).toBe(1);
  });
});
