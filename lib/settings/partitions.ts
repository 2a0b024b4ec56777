import { type Load, PARTITION_WRITE_UNITS, USABLE_SHARE, unitsNeeded } from './relations.ts';
import type { Settings } from './settings.ts';

/** Write units per second of a new on-demand index: about four partitions. @internal */
export const NEW_INDEX_WRITE_UNITS = 4000;
/** Share of deployments for which a figure must hold, because key hashing is random. */
const CERTAINTY = 0.9;
/** Warms twice the load, because some partitions get more keys than others. */
const WARM_FACTOR = 2;
const MOST_SHARDS = 256;

/** Keys on the fullest partition in nine of ten deployments; DynamoDB places keys by hash. @internal */
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
  // Poisson-distributed keys per partition, conditioned on their total.
  return (ways[keys] ?? 0) / Math.exp(keys * Math.log(keys) - (logFactorial[keys] ?? 0) - keys);
}

/** Before DynamoDB has split its hot partitions. */
export const carriedAtOnce = (shards: number, indexUnits = NEW_INDEX_WRITE_UNITS): number => {
  const partitions = Math.max(1, Math.floor(indexUnits / PARTITION_WRITE_UNITS));
  return Math.min(
    partitions * PARTITION_WRITE_UNITS * USABLE_SHARE,
    (PARTITION_WRITE_UNITS * USABLE_SHARE * shards) / keysOnFullest(shards, partitions),
  );
};

/** For a load that starts at once; undefined if the current values suffice. */
export function warmingFor(
  s: Load & Pick<Settings, 'shards'>,
  indexUnits?: number,
): { readonly shards: number; readonly indexUnits: number } | undefined {
  const load = unitsNeeded(s).index;
  if (load <= carriedAtOnce(s.shards, indexUnits)) return undefined;
  for (let factor = WARM_FACTOR; ; factor *= 2) {
    const units = Math.ceil((factor * load) / PARTITION_WRITE_UNITS) * PARTITION_WRITE_UNITS;
    for (let shards = s.shards; shards <= MOST_SHARDS; shards = Math.ceil(shards * 1.5))
      if (carriedAtOnce(shards, units) >= load) return { shards, indexUnits: units };
    if (factor >= 4) return { shards: MOST_SHARDS, indexUnits: units };
  }
}
