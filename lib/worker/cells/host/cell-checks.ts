import type { PayloadCheck } from '../cells.ts';
import type { FromCell } from '../channel.ts';
import type { HostTalk } from './host-talk.ts';

/** A payload that a cell was asked about. */
export interface CellCheck {
  readonly check: number;
  readonly settle: (answer: PayloadCheck) => void;
}

export type CellChecks = ReturnType<typeof createCellChecks>;

/** The payloads that one cell was asked about and has not answered for. */
export function createCellChecks(cell: number, say: HostTalk) {
  const open = new Map<number, CellCheck>();
  return {
    count: () => open.size,
    all: () => [...open.values()],
    ask(check: number, type: string, payload: string, settle: CellCheck['settle']): void {
      open.set(check, { check, settle });
      say({ kind: 'check', check, type, payload });
    },
    answered(message: Extract<FromCell, { kind: 'checked' }>): void {
      const asked = open.get(message.check);
      open.delete(message.check);
      asked?.settle(answerOf(cell, message));
    },
    forget: (check: number): void => say({ kind: 'forget', check }),
  };
}

function answerOf(
  cell: number,
  { answer, check, reason }: Extract<FromCell, { kind: 'checked' }>,
): PayloadCheck {
  if (answer === 'accepted') return { kind: 'accepted', token: { cell, check } };
  return answer === 'refused' ? { kind: 'refused', reason: reason ?? 'it says no more' } : { kind: answer };
}
