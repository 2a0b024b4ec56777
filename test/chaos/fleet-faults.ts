import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../support/random.ts';
import type { ChaosEvent } from './evidence.ts';
import type { FleetMember } from './fleet-hosts.ts';
import type { Mood } from './mood.ts';

interface Targets {
  readonly hosts: readonly FleetMember[];
  readonly reapers: readonly FleetMember[];
  readonly storeOutage: Pick<Mood, 'partitioned'>;
  readonly queueOutage: Pick<Mood, 'partitioned'>;
}

export interface FaultPlan {
  /** The share of the cells that dies each minute. */
  readonly cellDeaths: number;
  readonly seconds: number;
}

/** How long until a host or a reaper dies, and until table or queue are out of reach, in s. */
const EVERY = { hostDeath: [50, 100], reaperDeath: [30, 60], outage: [50, 100] } as const;
const OUTAGE_MS = [2000, 5000] as const;
/** Between one host and the next in a deployment. */
const DEPLOY_STEP_MS = 3000;

/** Does what goes wrong in a fleet until the signal fires; resolves then. */
export async function disturb(
  { hosts, reapers, storeOutage, queueOutage }: Targets,
  { cellDeaths, seconds }: FaultPlan,
  random: SeededRandom,
  note: (event: Omit<ChaosEvent, 'at'>) => void,
  signal: AbortSignal,
): Promise<void> {
  const one = <T>(of: readonly T[]): T | undefined => of[random.integer(0, of.length - 1)];
  const again = async (waitSeconds: () => number, act: () => void | Promise<void>): Promise<void> => {
    for (;;) {
      await sleep(waitSeconds() * 1000, undefined, { signal });
      await act();
    }
  };
  const between = ([least, most]: readonly [number, number]) => least + random.next() * (most - least);
  const outage = (what: string, mood: Pick<Mood, 'partitioned'>) =>
    again(
      () => between(EVERY.outage),
      async () => {
        const ms = Math.round(between(OUTAGE_MS));
        note({ what: `${what} out of reach for ${ms} ms` });
        mood.partitioned = true;
        await sleep(ms, undefined, { signal }).finally(() => {
          mood.partitioned = false;
        });
      },
    );
  const cells = () => hosts.flatMap(({ process }) => process.cells());
  await Promise.allSettled([
    again(
      () => between([0.5, 1.5]) * (60 / (cellDeaths * Math.max(1, cells().length))),
      () => {
        const pid = one(cells());
        if (pid === undefined) return;
        note({ what: 'cell killed', pid });
        process.kill(pid, 'SIGKILL');
      },
    ),
    again(
      () => between(EVERY.hostDeath),
      () => {
        const host = one(hosts);
        note({ what: 'host killed', pid: host?.process.pid });
        host?.process.kill(random.integer(200, 2000));
      },
    ),
    again(
      () => between(EVERY.reaperDeath),
      () => {
        const reaper = one(reapers);
        note({ what: 'reaper killed', pid: reaper?.process.pid });
        reaper?.process.kill(random.integer(200, 2000));
      },
    ),
    outage('table', storeOutage),
    outage('queue', queueOutage),
    (async () => {
      await sleep((seconds * 1000) / 2, undefined, { signal });
      for (const host of hosts) {
        note({ what: 'host replaced by a deployment', pid: host.process.pid });
        host.process.terminate();
        await sleep(DEPLOY_STEP_MS, undefined, { signal });
      }
    })(),
  ]);
}
