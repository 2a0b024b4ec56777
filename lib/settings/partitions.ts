import { PARTITION_WRITE_UNITS, UNITS_PER_BEAT, USABLE_SHARE } from './relations.ts';
import type { Settings } from './settings.ts';

/** Write units a second that a new on-demand index takes: about four partitions. @internal */
export const NEW_INDEX_WRITE_UNITS = 4000;
/** Deployments that must be as good as what is said of them: the hash of the keys is luck. */
const CERTAINTY = 0.9;
/** Units are warmed for twice the load: with as many partitions as the load needs, some get more keys than others. */
const WARM_FACTOR = 2;
const MOST_SHARDS = 256;

/**
 * Keys on the fullest partition that nine of ten deployments do not exceed. DynamoDB puts keys on partitions by a hash: the
 * chance that no partition gets more than so many is counted partition by partition.
 * @internal
 */
export function keysOnFullest(keys: number, partitions: number): number {
  for (let most = Math.ceil(keys / partitions); most < keys; most++)
    if (chanceOfAtMost(most, keys, partitions) >= CERTAINTY) return most;
  return keys;
}

function chanceOfAtMost(most: number, keys: number, partitions: number): number {
  // ways[n]: chance, times factorials that cancel out, that n keys lie on the partitions so far.
  let ways = [1, ...Array.from({ length: keys }, () => 0)];
  const logFactorial = [0];
  for (let n = 1; n <= keys; n++) logFactorial[n] = (logFactorial[n - 1] ?? 0) + Math.log(n);
  const term = (n: number) =>
    Math.exp(n * Math.log(keys / partitions) - (logFactorial[n] ?? 0) - keys / partitions);
  const terms = Array.from({ length: most + 1 }, (_, n) => term(n));
  for (let partition = 0; partition < partitions; partition++)
    ways = ways.map((_, total) => {
      let sum = 0;
      for (let here = 0; here <= Math.min(most, total); here++)
        sum += (ways[total - here] ?? 0) * (terms[here] ?? 0);
      return sum;
    });
  // A Poisson number of keys on each, given that they are so many in all.
  return (ways[keys] ?? 0) / Math.exp(keys * Math.log(keys) - (logFactorial[keys] ?? 0) - keys);
}

/** Write units a second that an index carries from its first minute, before DynamoDB has split what is hot. */
export const carriedAtOnce = (shards: number, indexUnits = NEW_INDEX_WRITE_UNITS): number => {
  const partitions = Math.max(1, Math.floor(indexUnits / PARTITION_WRITE_UNITS));
  return Math.min(
    partitions * PARTITION_WRITE_UNITS * USABLE_SHARE,
    (PARTITION_WRITE_UNITS * USABLE_SHARE * shards) / keysOnFullest(shards, partitions),
  );
};

/** Write units of the index that so many heartbeats use in a second. */
export const beatUnits = (s: Pick<Settings, 'maxRunning' | 'heartbeatMs'>): number =>
  (s.maxRunning * UNITS_PER_BEAT * 1000) / s.heartbeatMs;

/** What a load that is there from the first minute needs; undefined where what there is will do. */
export function warmingFor(
  s: Pick<Settings, 'maxRunning' | 'heartbeatMs' | 'shards'>,
  indexUnits?: number,
): { readonly shards: number; readonly indexUnits: number } | undefined {
  const load = beatUnits(s);
  if (load <= carriedAtOnce(s.shards, indexUnits)) return undefined;
  for (let factor = WARM_FACTOR; ; factor *= 2) {
    const units = Math.ceil((factor * load) / PARTITION_WRITE_UNITS) * PARTITION_WRITE_UNITS;
    for (let shards = s.shards; shards <= MOST_SHARDS; shards = Math.ceil(shards * 1.5))
      if (carriedAtOnce(shards, units) >= load) return { shards, indexUnits: units };
    if (factor >= 4) return { shards: MOST_SHARDS, indexUnits: units };
  }
}
