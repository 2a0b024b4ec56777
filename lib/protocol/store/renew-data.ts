import type { Claim, RunningJob } from '../job.ts';
import { DATA_SPARE_MS, pointersOf } from '../rows/data-pointer.ts';
import { parseJob } from '../rows/parse-row.ts';
import { isHeldBy, type StoreParts } from './store-parts.ts';
import { tidyRow } from './tidy-row.ts';

/** So often a claim that runs for weeks has its data looked at: a quarter of what data has to spare. */
const LOOK_EVERY_MS = DATA_SPARE_MS / 4;
/** After a look that came to nothing. */
const LOOK_AGAIN_MS = 3_600_000;

/**
 * Keeps the data of claims that run for weeks: told of each heartbeat, it now and then copies what would expire to rows of its own.
 * Nobody waits for it, because the lease must not; what fails is tried again.
 */
export function createDataRenewal(parts: StoreParts): (claim: Claim) => void {
  const { table, clock, data } = parts;
  const looks = new WeakMap<Claim, number>();

  const renewed = async (claim: Claim): Promise<boolean> => {
    const row = await table.read(claim.jobId);
    if (row === undefined || !isHeldBy(claim, row)) return true;
    const { row: whole } = await data.resolve(row);
    const tidied = await tidyRow(parts, parseJob(row) as RunningJob, row, whole);
    return !pointersOf(tidied).some(([, pointer]) => data.expiresSoon(pointer));
  };

  return (claim) => {
    const now = clock.now();
    // What the claim could not renew when it began is looked at with its first beat.
    const first = claim.found?.expiresSoon === true ? 0 : claim.startedAt + LOOK_EVERY_MS;
    if (now < (looks.get(claim) ?? first)) return;
    looks.set(claim, now + LOOK_AGAIN_MS);
    renewed(claim).then(
      (isDone) => isDone && looks.set(claim, now + LOOK_EVERY_MS),
      () => {},
    );
  };
}
