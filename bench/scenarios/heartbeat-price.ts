import { claimOf } from '../../lib/protocol/job.ts';
import { leaseLength } from '../../lib/settings/lease-length.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';
import { type DynamoDbEngineName, startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { createMeteredStore, type MeteredStore } from '../support/metered-store.ts';
import { jobId } from '../systems/system.ts';

/** What keeping one lease alive costs, by the engine's own account. */
export interface HeartbeatPrice {
  readonly engine: DynamoDbEngineName;
  readonly schemes: readonly SchemePrice[];
  readonly payloads: readonly PayloadPrice[];
}

/** Write units of the heartbeats of one job, an hour of its run, for jobs of different lengths. */
interface SchemePrice {
  readonly scheme: string;
  readonly leaseGrowth: number;
  readonly leaseMs: number;
  readonly hours: readonly {
    readonly hours: number;
    readonly beats: number;
    readonly unitsPerHour: number;
  }[];
  /** Longest time, ms, from a crash at this age of the attempt to the end of the lease. */
  readonly noticedWithinMs: readonly { readonly hours: number; readonly ms: number }[];
}

interface PayloadPrice {
  readonly payloadBytes: number;
  readonly unitsPerBeat: number;
}

const HOUR = 3_600_000;
const LENGTHS_HOURS = [1, 6, 24] as const;
const PAYLOADS = [100, 500, 1000, 4000, 16_000, 64_000] as const;
const SCHEMES: readonly (Partial<Settings> & { readonly scheme: string })[] = [
  { scheme: 'lease 30 s, beat every 10 s', leaseMs: 30_000, leaseGrowth: 0 },
  { scheme: 'lease 60 s, beat every 20 s', leaseMs: 60_000, leaseGrowth: 0 },
  { scheme: 'lease 300 s, beat every 100 s', leaseMs: 300_000, leaseGrowth: 0 },
  { scheme: 'lease grows by 5% of the age', leaseMs: 30_000, leaseGrowth: 0.05 },
  { scheme: 'lease grows by 10% of the age', leaseMs: 30_000, leaseGrowth: 0.1 },
  { scheme: 'lease grows by 20% of the age', leaseMs: 30_000, leaseGrowth: 0.2 },
];

/** Lives through whole days of heartbeats on a hand-driven clock, against a real engine. */
export async function heartbeatPrice(engine: DynamoDbEngineName, quick: boolean): Promise<HeartbeatPrice> {
  const running = await startDynamoDb({ engine });
  try {
    const schemes: SchemePrice[] = [];
    for (const { scheme, ...given } of SCHEMES)
      schemes.push(await priceOf(running.endpoint, scheme, resolveSettings(given), quick));
    return { engine, schemes, payloads: await payloadPrices(running.endpoint) };
  } finally {
    await running.stop();
  }
}

async function priceOf(
  endpoint: string,
  scheme: string,
  settings: Settings,
  quick: boolean,
): Promise<SchemePrice> {
  const lengths = quick ? LENGTHS_HOURS.slice(0, 2) : LENGTHS_HOURS;
  const hours: SchemePrice['hours'][number][] = [];
  const clock = createHandClock(1_800_000_000_000);
  const metered = await createMeteredStore({ endpoint, clock, settings });
  const { claim, startedAt } = await claimed(metered, settings, 200);
  metered.meter.reset();
  let beats = 0;
  for (const length of lengths) {
    for (;;) {
      const lease = leaseLength(settings.leaseMs, clock.now() - startedAt, settings);
      if (clock.now() + lease / 3 > startedAt + length * HOUR) break;
      await clock.advance(Math.floor(lease / 3));
      const next = clock.now() + leaseLength(settings.leaseMs, clock.now() - startedAt, settings);
      const outcome = await metered.store.heartbeat(claim, next);
      if (outcome.outcome !== 'extended') throw new Error(`a beat was lost after ${beats} beats`);
      beats += 1;
    }
    hours.push({ hours: length, beats, unitsPerHour: metered.meter.spent.total / length });
  }
  metered.close();
  return {
    scheme,
    leaseGrowth: settings.leaseGrowth,
    leaseMs: settings.leaseMs,
    hours,
    noticedWithinMs: LENGTHS_HOURS.map((length) => ({
      hours: length,
      ms: leaseLength(settings.leaseMs, length * HOUR, settings) + settings.skewMs,
    })),
  };
}

/** The whole row is billed with every beat, so a fat payload makes each one dear. */
async function payloadPrices(endpoint: string): Promise<PayloadPrice[]> {
  const clock = createHandClock(1_800_000_000_000);
  const settings = resolveSettings();
  const metered = await createMeteredStore({ endpoint, clock, settings });
  const prices: PayloadPrice[] = [];
  for (const payloadBytes of PAYLOADS) {
    const { claim, leaseUntil } = await claimed(metered, settings, payloadBytes);
    metered.meter.reset();
    await metered.store.heartbeat(claim, leaseUntil + 10_000);
    prices.push({ payloadBytes, unitsPerBeat: metered.meter.spent.total });
  }
  metered.close();
  return prices;
}

async function claimed({ store }: MeteredStore, settings: Settings, payloadBytes: number) {
  const { leaseMs, maxAttempts, maxCrashes } = settings;
  const payload = JSON.stringify('x'.repeat(Math.max(0, payloadBytes - 2)));
  const job = { jobId: jobId(), type: 'bench', payload, leaseMs, maxAttempts, maxCrashes };
  const outcome = await store.claim({ job, owner: 'bench/0123456789ab' });
  if (outcome.outcome !== 'claimed') throw new Error(`no claim: ${outcome.outcome}`);
  return {
    claim: claimOf(outcome.job),
    startedAt: outcome.job.startedAt,
    leaseUntil: outcome.job.leaseUntil,
  };
}
