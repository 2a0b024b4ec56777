import type { Fate } from '../support/journal-job.ts';
import { derivedSeed, type SeededRandom, seededRandom } from '../support/random.ts';

/** What a job of the fleet is. The last two kill or block every cell that runs them. */
export type FleetKind = 'short' | 'long' | 'checkpointed' | 'computing' | 'leaking' | 'poisonous' | 'hanging';

export interface FleetJob {
  readonly jobId: string;
  readonly kind: FleetKind;
  readonly payload: object;
}

/** Harmless jobs, each kind as often as it stands here. */
const harmless: readonly [FleetKind, ...FleetKind[]] = [
  ...(['short', 'short', 'short', 'short', 'short', 'short'] as const),
  ...(['short', 'short', 'short', 'short', 'short', 'long'] as const),
  ...(['checkpointed', 'checkpointed', 'checkpointed'] as const),
  ...(['computing', 'computing', 'computing', 'leaking'] as const),
];

/** More attempts than any budget allows. */
const always = (fate: Fate) =>
  Object.fromEntries(Array.from({ length: 30 }, (_, n) => [String(n + 1), fate]));

/** The same seed gives the same jobs, whatever happens to them. */
export function createMix(seed: number) {
  const random = seededRandom(derivedSeed(seed, 'mix'));
  const guilty = seededRandom(derivedSeed(seed, 'guilty'));
  let count = 0;
  const named = (kind: FleetKind, payload: object): FleetJob => ({
    jobId: `${kind}-${++count}`,
    kind,
    payload,
  });
  return {
    innocent(): FleetJob {
      const kind = random.pick(harmless);
      return named(kind, payloadOf(kind, random));
    },
    guilty(): FleetJob {
      const kind = guilty.chance(0.6) ? 'poisonous' : 'hanging';
      return named(kind, payloadOf(kind, guilty));
    },
  };
}

function payloadOf(kind: FleetKind, random: SeededRandom): object {
  switch (kind) {
    case 'short':
      return { steps: 1, stepMs: random.integer(100, 600) };
    case 'long':
      return { steps: 1, stepMs: random.integer(3000, 9000) };
    case 'checkpointed':
      return { steps: 8, stepMs: random.integer(150, 400) };
    case 'computing':
      return { steps: 2, stepMs: 50, burnMs: random.integer(20, 80) };
    case 'leaking':
      return { steps: 1, stepMs: 100, leakMb: random.integer(2, 8) };
    case 'poisonous':
      return { steps: 0, stepMs: 0, fates: always('kill') };
    case 'hanging':
      return { steps: 0, stepMs: 0, fates: always('spin') };
  }
}

export const isGuilty = (jobId: string): boolean => /^(poisonous|hanging)-/.test(jobId);
