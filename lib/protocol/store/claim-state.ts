import type { Claim } from '../job.ts';
import { type DataName, MAX_INLINE_ROW_BYTES } from '../rows/data-pointer.ts';
import { attributeBytes } from '../rows/row-bytes.ts';

/** Assumed of a claim that does not know its row. */
const USUAL_ROW_BYTES = 550;

type Place = { readonly pair: string; readonly slot: 0 | 1 };

/** What the store knows of a claim's row beyond what the claim found there. A claim that it does not know starts anew. */
export class ClaimState {
  readonly #bytes: Record<'checkpoint' | 'progress', number>;
  readonly #rest: number;
  readonly #places = new Map<DataName, Place | undefined>();
  /** Whether its crashes were forgiven already. */
  hasProgressed = false;

  constructor({ found }: Claim) {
    this.#rest = found?.bytes ?? USUAL_ROW_BYTES;
    this.#bytes = { checkpoint: found?.checkpointBytes ?? 0, progress: found?.progressBytes ?? 0 };
  }

  /** Whether the row stays small enough with this text on it. */
  hasRoomFor(name: 'checkpoint' | 'progress' | 'result', text: string): boolean {
    const others =
      name === 'result' ? ['checkpoint', 'progress'] : [name === 'progress' ? 'checkpoint' : 'progress'];
    const taken = others.reduce(
      (sum, other) => sum + this.#bytes[other as 'checkpoint' | 'progress'],
      this.#rest,
    );
    return taken + attributeBytes(name, text) <= MAX_INLINE_ROW_BYTES;
  }

  wrote(name: 'checkpoint' | 'progress', value: unknown): void {
    this.#bytes[name] = attributeBytes(name, value);
  }

  /**
   * Where the next text of this name goes: the one of a pair of places that the row does not point to. Where it is not
   * known to which it points, because a reply was lost for good, neither may be overwritten, and a new pair is begun.
   */
  nextPlace(name: DataName, newPair: () => string): Place {
    const last = this.#places.get(name);
    return last === undefined
      ? { pair: newPair(), slot: 0 }
      : { pair: last.pair, slot: last.slot === 0 ? 1 : 0 };
  }

  /** The row points to this place now; undefined: nobody knows. */
  pointsTo(name: DataName, place: Place | undefined): void {
    this.#places.set(name, place);
  }
}

export const placeText = ({ pair, slot }: Place): string => `${pair}.${slot}`;
