import { type Fault, type FaultRule, readsIndex } from '../support/faults.ts';

/** How the network treats one process. */
export interface Mood {
  /** Nothing goes wrong any more. */
  calm: boolean;
  /** Nothing gets through, either way. */
  partitioned: boolean;
}

const LONGEST_DELAY_MS = 400;
const OLDEST_INDEX_MS = 2000;

/** What goes wrong with one request in how many, besides partitions. Rates add up to about a quarter. */
const rates: readonly (readonly [number, (random: () => number) => Fault])[] = [
  [0.08, (random) => ({ kind: 'delay', beforeMs: random() * LONGEST_DELAY_MS })],
  [0.05, (random) => ({ kind: 'delay', afterMs: random() * LONGEST_DELAY_MS })],
  [0.03, () => ({ kind: 'reset' })],
  [0.04, () => ({ kind: 'dropReply' })],
  [0.01, (random) => ({ kind: 'silence', applied: random() < 0.5 })],
  [0.02, () => ({ kind: 'throttle' })],
  [0.03, (random) => ({ kind: 'serverError', applied: random() < 0.5 })],
];
const PARTIAL_BATCHES = 0.15;
const STALE_INDEX = 0.25;

/** The faults of one process's requests; the proxy's seed and the request's number decide. */
export const moodyRule =
  (mood: Mood): FaultRule =>
  (request) => {
    if (mood.calm) return undefined;
    if (mood.partitioned) return { kind: 'silence', applied: false };
    const { random } = request;
    if (readsIndex(request) && random.chance(STALE_INDEX))
      return { kind: 'staleReply', byMs: random.integer(1, OLDEST_INDEX_MS) };
    if (request.operation === 'BatchExecuteStatement' && random.chance(PARTIAL_BATCHES))
      return { kind: 'failSome', which: { share: 0.3 }, applied: random.chance(0.3) };
    let dice = random.next();
    for (const [rate, fault] of rates) {
      if (dice < rate) return fault(random.next);
      dice -= rate;
    }
    return undefined;
  };
