import type { Claim } from '../job.ts';
import { dataKinds, MAX_INLINE_ROW_BYTES } from '../rows/data-pointer.ts';
import { attributeBytes } from '../rows/row-bytes.ts';
import { firstSlots, type Slots, settledAt, takeSlot } from './data-slots.ts';

/** Assumed when a claim has not seen its row. */
const USUAL_ROW_BYTES = 550;

type KeptName = 'checkpoint' | 'progress';

export class ClaimState {
  readonly #bytes: Record<KeptName, number>;
  readonly #rest: number;
  readonly #claim: Claim;
  readonly #slots: Partial<Record<KeptName, Slots>> = {};
  hasProgressed = false;

  constructor(claim: Claim) {
    const { rowAtClaim } = claim;
    this.#claim = claim;
    this.#rest = rowAtClaim?.bytes ?? USUAL_ROW_BYTES;
    this.#bytes = { checkpoint: rowAtClaim?.checkpointBytes ?? 0, progress: rowAtClaim?.progressBytes ?? 0 };
  }

  hasRoomFor(name: KeptName | 'result', text: string): boolean {
    const others: readonly KeptName[] =
      name === 'result' ? ['checkpoint', 'progress'] : [name === 'progress' ? 'checkpoint' : 'progress'];
    const taken = others.reduce((sum, other) => sum + this.#bytes[other], this.#rest);
    return taken + attributeBytes(name, text) <= MAX_INLINE_ROW_BYTES;
  }

  takeSlot(name: KeptName, newPlace: () => string): Slots {
    const slot = takeSlot(this.#slots[name] ?? this.#firstSlots(name), newPlace);
    this.#slots[name] = slot;
    return slot;
  }

  wrote(name: KeptName, value: unknown, slot?: Slots): void {
    this.#bytes[name] = attributeBytes(name, value);
    if (slot !== undefined) this.#slots[name] = settledAt(this.#slots[name], slot);
  }

  #firstSlots(name: KeptName): Slots | undefined {
    const { attempt, rowAtClaim } = this.#claim;
    if (rowAtClaim === undefined) return undefined;
    const { createdAt, pointsTo } = rowAtClaim;
    return firstSlots({ kind: dataKinds[name], createdAt, attempt, pointsTo: pointsTo[name] });
  }
}
