import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { type MortalProcess, programs, startMortalProcess } from '../support/mortal-process.ts';
import { derivedSeed, type SeededRandom } from '../support/random.ts';
import type { ChaosSystem } from './chaos-system.ts';
import type { Mood } from './mood.ts';

/** A host or a reaper, each with its own way to the table and its own clock. */
export interface FleetMember {
  readonly kind: 'worker' | 'reaper';
  readonly process: MortalProcess;
  readonly proxy: FaultProxy;
}

const CLOCK = join(import.meta.dirname, 'skewed-clock.ts');
/** What a request takes in a region, in ms: DynamoDB, and SQS. */
const LATENCY_MS = { dynamodb: [2, 6], sqs: [5, 15] } as const;

/** Latency as in a region; in an outage nothing is answered. */
export const startLatency = (
  service: keyof typeof LATENCY_MS,
  target: string,
  seed: number,
  outage: Pick<Mood, 'partitioned'>,
): Promise<FaultProxy> => {
  const [least, most] = LATENCY_MS[service];
  return startFaultProxy({
    target,
    seed,
    rules: [
      ({ random }) =>
        outage.partitioned
          ? { kind: 'silence', applied: false }
          : { kind: 'delay', beforeMs: random.integer(least, most) },
    ],
  });
};

export async function startFleetMember(
  kind: FleetMember['kind'],
  context: {
    readonly system: ChaosSystem;
    readonly sqs: FaultProxy;
    readonly seed: number;
    readonly number: number;
    readonly random: SeededRandom;
    readonly storeOutage: Pick<Mood, 'partitioned'>;
  },
): Promise<FleetMember> {
  const { system, sqs, seed, number, random, storeOutage } = context;
  const proxy = await startLatency(
    'dynamodb',
    system.dynamodb,
    derivedSeed(seed, `${kind} ${number}`),
    storeOutage,
  );
  const farthest = Math.floor(system.settings.skewMs / 2);
  const process = startMortalProcess({
    program: programs[kind],
    environment: {
      ...system.environment({ dynamodb: proxy.endpoint, sqs: sqs.endpoint }),
      CLOCK_OFFSET_MS: String(random.integer(-farthest, farthest)),
    },
    execArgv: ['--import', CLOCK],
  });
  return { kind, process, proxy };
}

/** The cells of a host: its children that run handlers, spares among them. */
export function cellsOf({ process }: FleetMember): number[] {
  try {
    const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'latin1');
    return children.split(' ').filter(Boolean).map(Number).filter(isCell);
  } catch {
    return [];
  }
}

function isCell(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('cell-main');
  } catch {
    return false;
  }
}
