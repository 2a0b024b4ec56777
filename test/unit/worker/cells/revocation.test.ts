import { describe, expect, it } from 'vitest';
import {
  type AbortReason,
  Cancelled,
  LeaseLost,
  ShuttingDown,
  TimedOut,
} from '../../../../lib/worker/abort-reasons.ts';
import {
  ENDED,
  fromRevocation,
  LAPSED,
  NOT_REVOKED,
  toRevocation,
  WITHDRAWN,
} from '../../../../lib/worker/cells/revocation.ts';

describe('a reason to stop', () => {
  const reasons: [number, AbortReason][] = [
    [1, new LeaseLost('refused')],
    [2, new LeaseLost('ended')],
    [3, new LeaseLost('lapsed')],
    [4, new Cancelled()],
    [5, new TimedOut('overrun', 7000)],
    [6, new TimedOut('silent', 9000)],
    [7, new ShuttingDown('deadline')],
    [8, new ShuttingDown('shutdown')],
  ];

  it.each(reasons)('reaches the handler as it was meant: number %i', (number, reason) => {
    const written = toRevocation(reason);
    expect(written).toEqual({ revoked: number, detail: reason instanceof TimedOut ? reason.limitMs : 0 });
    const read = fromRevocation(written);
    expect(read).toBeInstanceOf(reason.constructor);
    expect(read.message).toBe(reason.message);
    expect({ ...read }).toEqual({ ...reason });
  });

  it('that nobody knows means that the claim is over', () => {
    for (const revoked of [NOT_REVOKED, WITHDRAWN.revoked, 99])
      expect(fromRevocation({ revoked, detail: 0 })).toMatchObject({ how: 'ended' });
  });

  it('has names for those that the slate itself gives', () => {
    expect(fromRevocation(ENDED)).toMatchObject({ how: 'ended' });
    expect(fromRevocation(LAPSED)).toMatchObject({ how: 'lapsed' });
    expect([ENDED.detail, LAPSED.detail, WITHDRAWN.detail, NOT_REVOKED]).toEqual([0, 0, 0, 0]);
    expect(reasons.map(([number]) => number)).not.toContain(WITHDRAWN.revoked);
  });
});
