import type { JsonValue } from '../../wire/message.ts';
import type { Claim, ClaimCounts } from '../job.ts';
import type { JobStore } from '../ports.ts';
import type { StoredText } from '../rows/data-pointer.ts';
import { toJsonText } from '../rows/json-text.ts';
import { checkpointWrite } from '../writes/worker-writes.ts';
import { ClaimState } from './claim-state.ts';
import { slotKey } from './data-slots.ts';
import { isAtLeast, isHeldBy, type StoreParts } from './store-parts.ts';

const KEPT = ['checkpoint', 'progress'] as const;
type KeptName = (typeof KEPT)[number];

/** Keyed by the found row, which every copy of a claim shares. */
const states = new WeakMap<object, ClaimState>();

function stateOf(claim: Claim): ClaimState {
  const key = claim.rowAtClaim ?? claim;
  const state = states.get(key) ?? new ClaimState(claim);
  states.set(key, state);
  return state;
}

export function checkpointVerb({ data, settings, context, fenced }: StoreParts): JobStore['checkpoint'] {
  return async (claim, { seq, ...values }) => {
    const state = stateOf(claim);
    const { jobId, attempt } = claim;
    const counts = forgiven(claim, state, values.checkpoint);
    // In the order of the numbers.
    const texts = KEPT.flatMap((name) => {
      const value = values[name];
      if (value === undefined) return [];
      const text = toJsonText(name, value, settings.maxCheckpointBytes);
      const slot = state.hasRoomFor(name, text)
        ? undefined
        : state.takeSlot(name, () => data.newPlace(name, attempt));
      return [{ name, text, slot }];
    });
    const stored: Partial<Record<KeptName, StoredText>> = {};
    for (const { name, text, slot } of texts)
      stored[name] =
        slot === undefined
          ? text
          : await data.replace({ jobId, name, text }, slotKey(slot), { attempt, seq });
    const write = checkpointWrite(claim, { seq, ...stored, counts }, context());
    const outcome = await fenced(write, (row) => isHeldBy(claim, row) && isAtLeast(row.checkpointSeq, seq));
    if (outcome.outcome === 'lost') return outcome;
    for (const { name, slot } of texts) state.wrote(name, stored[name], slot);
    if (counts !== undefined) state.hasProgressed = true;
    return { outcome: 'written', counts };
  };
}

/** New progress turns earlier crashes and lapses into releases, which are bounded, so no job runs forever. */
function forgiven(
  { rowAtClaim }: Claim,
  state: ClaimState,
  checkpoint: JsonValue | undefined,
): Pick<ClaimCounts, 'crashes' | 'lapses' | 'releases'> | undefined {
  if (rowAtClaim === undefined || state.hasProgressed || checkpoint === undefined) return undefined;
  if (rowAtClaim.crashes + rowAtClaim.lapses === 0) return undefined;
  if (JSON.stringify(checkpoint) === rowAtClaim.checkpoint) return undefined;
  return { crashes: 0, lapses: 0, releases: rowAtClaim.releases + rowAtClaim.crashes + rowAtClaim.lapses };
}
