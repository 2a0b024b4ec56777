import { claimOf } from '../../lib/protocol/job.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { type DynamoDbEngineName, startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { createMeteredStore, type MeteredStore } from '../support/metered-store.ts';
import { jobId } from '../systems/system.ts';

/** What keeping one lease alive costs, by the engine's own account. */
export interface HeartbeatPrice {
  readonly engine: DynamoDbEngineName;
  readonly payloads: readonly PayloadPrice[];
}

interface PayloadPrice {
  readonly payloadBytes: number;
  readonly unitsPerBeat: number;
}

const PAYLOADS = [100, 500, 1000, 4000, 16_000, 64_000] as const;
/** The whole row is billed with every beat: measures whether a large payload makes it dearer. */
export async function heartbeatPrice(engine: DynamoDbEngineName): Promise<HeartbeatPrice> {
  const running = await startDynamoDb({ engine });
  try {
    return { engine, payloads: await payloadPrices(running.endpoint) };
  } finally {
    await running.stop();
  }
}

async function payloadPrices(endpoint: string): Promise<PayloadPrice[]> {
  const clock = createFakeClock(1_800_000_000_000);
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
  return { claim: claimOf(outcome.job), leaseUntil: outcome.job.leaseUntil };
}
