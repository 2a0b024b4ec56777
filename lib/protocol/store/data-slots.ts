/** Data rows that the checkpoints of one claim rotate through; progress has as many. */
const SLOTS = 8;
/** Claims with their own slots; with 8 slots each, a job has at most 80 data rows of a kind. */
const CLAIMS = 10;

export interface Slots {
  readonly place: string;
  readonly taken: number;
  /** The job's row points to this text (counted from 0) or a later one. */
  readonly settled: number;
}

/** Keys include the creation time, because a deleted job may have left newer data under the same id. */
export function firstSlots(
  claim: {
    readonly kind: string;
    readonly createdAt: number;
    readonly attempt: number;
    readonly pointsTo: string | undefined;
  },
  { size, claims } = { size: SLOTS, claims: CLAIMS },
): Slots {
  const place = `${claim.kind}${claim.createdAt.toString(36)}.${claim.attempt % claims}`;
  const settled = Array.from({ length: size }, (_, slot) => `${place}.${slot}`).indexOf(claim.pointsTo ?? '');
  return { place, taken: settled + 1, settled: Math.max(0, settled) };
}

/** Skips slots that the row may point to; when none is free, the slots move to a new place. */
export function takeSlot(slots: Slots | undefined, newPlace: () => string, size = SLOTS): Slots {
  const isFree = slots !== undefined && slots.taken - slots.settled < size;
  const { place, taken, settled } = isFree ? slots : { place: newPlace(), taken: 0, settled: 0 };
  return { place, taken: taken + 1, settled };
}

export const slotKey = ({ place, taken }: Slots, size = SLOTS): string => `${place}.${(taken - 1) % size}`;

export const settledAt = (slots: Slots | undefined, slot: Slots): Slots | undefined =>
  slots?.place === slot.place ? { ...slots, settled: Math.max(slots.settled, slot.taken - 1) } : slots;
