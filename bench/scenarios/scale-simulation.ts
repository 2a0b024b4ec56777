import { runningShard } from '../../lib/protocol/shards.ts';
import { HEART_JITTER } from '../../lib/settings/heartbeat-timing.ts';
import { shardsNeeded } from '../../lib/settings/relations.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { jobId } from '../systems/system.ts';

/** A crowd of jobs whose hearts beat, seen from the partitions of the lease index. */
export interface ScaleSimulation {
  readonly jobs: number;
  readonly shards: number;
  readonly leaseMs: number;
  /** The crowd was claimed within this time, ms. */
  readonly claimedWithinMs: number;
  /** How many more jobs the fullest shard holds than the mean. */
  readonly fullestShare: number;
  /** Index write units a second of one shard: the mean, and the highest second of any shard after the first minute. */
  readonly meanUnits: number;
  readonly highestUnits: number;
  /** And within the first minute, when the crowd's beats have not spread yet. */
  readonly highestUnitsAtFirst: number;
}

type Crowd = Pick<ScaleSimulation, 'jobs' | 'leaseMs'>;

/** A beat takes an entry out of the index and puts it back. */
const INDEX_UNITS_A_BEAT = 2;
const MINUTES = 3;

/** Simulates the heartbeats of jobs with ids as SQS gives them, for some minutes after they were claimed. */
export function scaleSimulation(crowds: readonly Crowd[]): ScaleSimulation[] {
  return crowds.flatMap((crowd) => {
    const { heartbeatMs } = resolveSettings({ leaseMs: crowd.leaseMs });
    const shards = shardsNeeded({ maxRunning: crowd.jobs, heartbeatMs });
    return [heartbeatMs, 60_000].map((within) => simulate(crowd, shards, within, heartbeatMs));
  });
}

function simulate(
  { jobs, leaseMs }: Crowd,
  shards: number,
  claimedWithinMs: number,
  heartbeatMs: number,
): ScaleSimulation {
  const seconds = MINUTES * 60;
  const units = new Float64Array(shards * seconds);
  const held = new Uint32Array(shards);
  for (let i = 0; i < jobs; i += 1) {
    const shard = Number(runningShard(jobId(), shards).slice('r'.length));
    held[shard] = (held[shard] ?? 0) + 1;
    let at = Math.random() * claimedWithinMs;
    for (;;) {
      at += heartbeatMs * (1 - HEART_JITTER * Math.random());
      const second = Math.floor(at / 1000);
      if (second >= seconds) break;
      const place = shard * seconds + second;
      units[place] = (units[place] ?? 0) + INDEX_UNITS_A_BEAT;
    }
  }
  const highest = (from: number, to: number) => {
    let most = 0;
    for (let shard = 0; shard < shards; shard += 1)
      for (let second = from; second < to; second += 1)
        most = Math.max(most, units[shard * seconds + second] ?? 0);
    return most;
  };
  return {
    ...{ jobs, leaseMs, shards, claimedWithinMs },
    fullestShare: Math.max(...held) / (jobs / shards) - 1,
    meanUnits: (jobs * INDEX_UNITS_A_BEAT * 1000) / (heartbeatMs * (1 - HEART_JITTER / 2)) / shards,
    highestUnits: highest(120, seconds),
    highestUnitsAtFirst: highest(0, 60),
  };
}
