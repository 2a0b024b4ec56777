import type { Clock } from '../../../protocol/ports.ts';
import { waitAtMost } from '../../../protocol/wait-at-most.ts';
import type { HostTalk } from './host-talk.ts';

const FLUSH_MS = 1000;
let turns = 0;

export type CellFlushes = ReturnType<typeof createCellFlushes>;

/** Asks one cell to write out what its handlers have gathered, and waits for it, for a while. */
export function createCellFlushes(clock: Clock, say: HostTalk) {
  const open = new Map<number, () => void>();
  return {
    async flush(): Promise<void> {
      const turn = ++turns;
      const flushed = new Promise<void>((resolve) => open.set(turn, resolve));
      say({ kind: 'flush', turn });
      await waitAtMost(FLUSH_MS, flushed, clock);
      open.delete(turn);
    },
    flushed: (turn: number): void => open.get(turn)?.(),
    /** Nobody will answer any more. */
    giveUp(): void {
      for (const flushed of open.values()) flushed();
    },
  };
}
