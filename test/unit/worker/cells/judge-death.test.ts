import { describe, expect, it } from 'vitest';
import type { CellDeath } from '../../../../lib/worker/cells/host/cell.ts';
import { judgeDeath } from '../../../../lib/worker/cells/host/judge-death.ts';
import { cellRun } from '../../../support/stub-cell.ts';

const death = (given: Partial<CellDeath> = {}): CellDeath => ({
  ...{ cause: 'x', wasReady: true, runs: [cellRun(1)], checks: [] },
  ...given,
});
const check = { check: 1, settle() {} };
const judge = (died: CellDeath, given: { readonly used?: number; readonly isDraining?: boolean } = {}) =>
  judgeDeath(died, {
    ...{ used: 1, isDraining: false, suspicionOf: (jobs: number) => ({ group: 7, limit: jobs }) },
    ...given,
  });

describe('the death of a cell', () => {
  it('is charged to a job that was alone in a fresh cell', () => {
    expect(judge(death())).toEqual({
      ...{ forNobody: false, isToBlame: true },
      suspicion: { group: 7, limit: 1 },
    });
  });

  it.each<[string, CellDeath, number]>([
    ['a cell that others had used', death(), 2],
    ['a cell shared with another job', death({ runs: [cellRun(1), cellRun(2)] }), 2],
    ['a cell shared with a check', death({ checks: [check] }), 1],
    ['a cell in which it had not begun', death({ runs: [cellRun(1, { started: false })] }), 1],
  ])('is charged to nobody in %s', (_, died, used) => {
    const verdict = judge(died, { used });
    expect(verdict).toMatchObject({ forNobody: false, isToBlame: false });
    expect(verdict.suspicion).toEqual({ group: 7, limit: died.runs.length + died.checks.length });
  });

  it('is charged to a message whose check was alone in it', () => {
    expect(judge(death({ runs: [], checks: [check] }))).toMatchObject({ isToBlame: true });
  });

  it('leaves nobody suspected where nobody was in it', () => {
    expect(judge(death({ runs: [] }), { used: 0 })).toEqual({
      ...{ forNobody: false, isToBlame: false, suspicion: undefined },
    });
  });

  it('is nobody’s doing while its host drains, or when its host ended it with itself', () => {
    const nobody = { forNobody: true, isToBlame: false, suspicion: undefined };
    expect(judge(death(), { isDraining: true })).toEqual(nobody);
    expect(judge(death({ killedFor: 'closing' }))).toEqual(nobody);
  });

  it('for a handler that ignored its signal casts no suspicion: it is known why', () => {
    expect(judge(death({ killedFor: 'ignored signal' }))).toEqual({
      ...{ forNobody: false, isToBlame: false, suspicion: undefined },
    });
  });

  it.each(['stalled', 'memory'] as const)(
    'that its host brought about (%s) is charged as any other',
    (why) => {
      expect(judge(death({ killedFor: why }))).toMatchObject({ forNobody: false, isToBlame: true });
    },
  );
});
