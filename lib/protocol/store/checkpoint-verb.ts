import type { JsonValue } from '../../wire/message.ts';
import type { Claim, ClaimCounts } from '../job.ts';
import type { JobStore } from '../ports.ts';
import type { StoredText } from '../rows/data-pointer.ts';
import { toJsonText } from '../rows/json-text.ts';
import { checkpointWrite } from '../writes/worker-writes.ts';
import { ClaimState, placeText } from './claim-state.ts';
import { isAtLeast, isHeldBy, type StoreParts } from './store-parts.ts';

type KeptName = 'checkpoint' | 'progress';

/** Keeps a handler's place: on the job's row, or in one of two rows of the claim's own where it is too large for that. */
export function checkpointVerb({ data, settings, context, fenced }: StoreParts): JobStore['checkpoint'] {
  const states = new WeakMap<Claim, ClaimState>();
  const stateOf = (claim: Claim): ClaimState => {
    const state = states.get(claim) ?? new ClaimState(claim);
    states.set(claim, state);
    return state;
  };

  return async (claim, { seq, ...kept }) => {
    const state = stateOf(claim);
    const places = new Map<KeptName, ReturnType<ClaimState['nextPlace']>>();
    const stored: Partial<Record<KeptName, StoredText>> = {};
    const store = async (name: KeptName, value: JsonValue | undefined) => {
      if (value === undefined) return;
      const text = toJsonText(name, value, settings.maxCheckpointBytes);
      stored[name] = text;
      if (state.hasRoomFor(name, text)) return;
      const { jobId, attempt } = claim;
      const place = state.nextPlace(name, () => data.newPlace(name, attempt));
      places.set(name, place);
      stored[name] = await data.replace({ jobId, name, text }, placeText(place), seq);
    };
    const counts = forgiven(claim, state, kept.checkpoint);
    await store('checkpoint', kept.checkpoint);
    await store('progress', kept.progress);
    const write = checkpointWrite(claim, { seq, ...stored, counts }, context());
    let outcome: Awaited<ReturnType<typeof fenced>>;
    try {
      outcome = await fenced(write, (row) => isHeldBy(claim, row) && isAtLeast(row.checkpointSeq, seq));
    } catch (error) {
      for (const name of places.keys()) state.pointsTo(name, undefined);
      throw error;
    }
    if (outcome.outcome === 'lost') return outcome;
    for (const name of ['checkpoint', 'progress'] as const) {
      if (stored[name] !== undefined) state.wrote(name, stored[name]);
      if (places.has(name)) state.pointsTo(name, places.get(name));
    }
    if (counts !== undefined) state.hasProgressed = true;
    return { outcome: 'written', counts };
  };
}

/**
 * The counts of a claim that comes further than any before it: crashes on the way here do not count against what lies
 * ahead. They become releases, which are bounded as well, so that no job runs for ever.
 */
function forgiven(
  { found }: Claim,
  state: ClaimState,
  checkpoint: JsonValue | undefined,
): Pick<ClaimCounts, 'crashes' | 'releases'> | undefined {
  if (found === undefined || state.hasProgressed || checkpoint === undefined) return undefined;
  if (found.crashes + found.excuses === 0) return undefined;
  if (JSON.stringify(checkpoint) === found.checkpoint) return undefined;
  return { crashes: 0, releases: found.releases + found.crashes };
}
