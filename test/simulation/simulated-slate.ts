import type { CellSlate, HostSlate, SlotEntry } from '../../lib/worker/cells/slate.ts';
import type { Process } from './world.ts';

const EMPTY: SlotEntry = { run: 0, revoked: 0, detail: 0, grantedAt: { wall: 0, monotonic: 0 }, leaseMs: 0 };

/** What a host and its cell share. The pulse rises whenever it is looked at while the cell's code could run. */
export function createSimulatedSlate(cell: Process): { readonly host: HostSlate; readonly cell: CellSlate } {
  const entries = new Map<number, SlotEntry>();
  const started = new Map<number, number>();
  const progress = new Map<number, number>();
  let pulse = 0;
  let words: string | undefined;
  return {
    host: {
      descriptor: -1,
      write: (slot, entry) => void entries.set(slot, entry),
      signs() {
        if (cell.isAwake) pulse += 1;
        return { pulse };
      },
      slotSigns: (slot) => ({ started: started.get(slot) ?? 0, progress: progress.get(slot) ?? 0 }),
      lastWords: () => words,
      close() {},
    },
    cell: {
      read: (slot) => entries.get(slot) ?? EMPTY,
      pulse() {},
      started(slot, run) {
        started.set(slot, run);
        progress.delete(slot);
      },
      progress: (slot) => void progress.set(slot, (progress.get(slot) ?? 0) + 1),
      lastWords(text) {
        words ??= text;
      },
      takeBackWords() {
        words = undefined;
      },
    },
  };
}
