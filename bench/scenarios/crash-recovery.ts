import { setTimeout as sleep } from 'node:timers/promises';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { isLine } from '../support/worker-process.ts';
import type { Profile, System } from '../systems/system.ts';
import { ageLeases, type Bench, freshQueue, job, onEach, worker } from './scenario.ts';

/** Time from a worker's SIGKILL to its job's next start, in ms. */
export interface CrashRecovery {
  readonly spread: Spread | undefined;
  readonly lost: number;
  /** This much of the lease was not waited for but passed in the store, and is part of the figures. */
  readonly addedMs: number;
  /** The lease it was measured with. */
  readonly leaseMs?: number;
}

/** Leases longer than this are aged in the store, so that only their last seconds are waited for. */
const LONGEST_WAIT_MS = 60_000;
const REST_MS = 5000;
/** Five runs cover the five seconds between two heartbeats evenly, so that the median is that of a lease of average age. */
const LATER_MS = 1000;

/** A worker is killed in the middle of a job while a second worker stands by. */
export const crashRecovery = (bench: Bench, profile: Profile, inTurn: typeof onEach = onEach) =>
  inTurn(bench, `crash recovery, ${profile} settings`, async (system): Promise<CrashRecovery> => {
    const addedMs = system.leaseMs[profile] > LONGEST_WAIT_MS ? system.leaseMs[profile] - REST_MS : 0;
    const delays: (number | undefined)[] = [];
    const runs = bench.quick ? 3 : 5;
    // Where minutes are waited for, a second more or less for starting processes does not matter.
    const atOnce = profile === 'default' || bench.quick ? runs : 2;
    for (let run = 0; run < runs; run += atOnce) {
      const together = Math.min(atOnce, runs - run);
      const step = await Promise.all(
        Array.from({ length: together }, (_, i) => oneCrash(system, profile, run + i, addedMs > 0)),
      );
      delays.push(...step);
    }
    const known = delays.filter((delay) => delay !== undefined).map((delay) => delay + addedMs);
    return {
      spread: spreadOf(known),
      lost: delays.length - known.length,
      addedMs,
      leaseMs: system.leaseMs[profile],
    };
  });

async function oneCrash(
  system: System,
  profile: Profile,
  run: number,
  aged: boolean,
): Promise<number | undefined> {
  const queue = await freshQueue(system, profile);
  const victim = await worker(system, queue, profile);
  const long = job('sleep', 600_000);
  await system.enqueue(queue, [long]);
  await victim.seen(isLine('start', long.id), 30_000);
  const heir = await worker(system, queue, profile);
  await sleep(1000 + run * LATER_MS);
  const killedAt = await victim.kill();
  const ageing = aged ? ageLeases(system, queue, profile, REST_MS) : undefined;
  const restart = await heir.seen(isLine('start', long.id), 150_000);
  await ageing?.stop();
  await heir.kill();
  return restart === undefined ? undefined : restart.at - killedAt;
}
