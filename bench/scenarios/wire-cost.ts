import { claimOf } from '../../lib/protocol/job.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { type DynamoDbEngineName, startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { startFaultProxy } from '../../test/support/fault-proxy.ts';
import { createMeteredStore } from '../support/metered-store.ts';
import { jobId } from '../systems/system.ts';

/** What one transition costs on the wire and by the engine's own account: the same on any engine and any machine. */
export interface WireCost {
  readonly engine: DynamoDbEngineName;
  readonly transition: string;
  readonly requestBytes: number;
  readonly replyBytes: number;
  readonly tableUnits: number;
  readonly indexUnits: number;
}

const settings = resolveSettings();

/** Takes one job with a payload of 200 bytes through its life and notes what each step costs. */
export async function wireCost(engine: DynamoDbEngineName): Promise<WireCost[]> {
  const running = await startDynamoDb({ engine });
  const proxy = await startFaultProxy({ target: running.endpoint });
  const clock = createFakeClock();
  const metered = await createMeteredStore({ endpoint: proxy.endpoint, clock, settings });
  const { store, meter } = metered;
  const costs: WireCost[] = [];
  const step = async <T>(transition: string, write: () => Promise<T>): Promise<T> => {
    meter.reset();
    proxy.tally.clear();
    const outcome = await write();
    const { requestBytes, replyBytes } = sumOf(Object.values(proxy.tally.all()));
    const { table: tableUnits, indexes: indexUnits } = meter.spent;
    costs.push({ engine, transition, requestBytes, replyBytes, tableUnits, indexUnits });
    await clock.advance(1);
    return outcome;
  };
  const claimed = async (transition: string, job: Parameters<typeof store.claim>[0]['job']) => {
    const outcome = await step(transition, () => store.claim({ job, owner: `bench/${jobId()}` }));
    if (outcome.outcome !== 'claimed') throw new Error(`${transition}: ${outcome.outcome}`);
    return outcome.job;
  };
  const now = () => ({
    notBefore: clock.now(),
    leaseUntil: clock.now() + 60_000,
    dispatches: 1,
    hintDelaySeconds: 0,
  });

  const { leaseMs, maxAttempts, maxCrashes } = settings;
  const payload = JSON.stringify('x'.repeat(198));
  const newJob = (id: string) => ({ jobId: id, type: 'bench', payload, leaseMs, maxAttempts, maxCrashes });
  const plain = await claimed('claim of a new job', newJob(jobId()));
  await step('complete with a result of 50 bytes', () => store.complete(claimOf(plain), 'x'.repeat(48)));
  const id = jobId();
  const first = await claimed('claim of a new job (again)', newJob(id));
  await step('heartbeat', () => store.heartbeat(claimOf(first), first.leaseUntil + 10_000));
  await step('checkpoint of 100 bytes', () =>
    store.checkpoint(claimOf(first), { seq: 1, checkpoint: 'x'.repeat(98) }),
  );
  await step('retry after an error', () =>
    store.retry(claimOf(first), { errors: 1, lastError: 'Error: no', dispatch: now() }),
  );
  const second = await claimed('claim of a pending job', { jobId: id });
  await step('release', () => store.release(claimOf(second), { errors: 1, releases: 1, dispatch: now() }));
  const third = await claimed('claim of a pending job (again)', { jobId: id });
  await step('a stale heartbeat, refused', () => store.heartbeat(claimOf(first), third.leaseUntil + 1));
  await step('complete after three claims, row above 1 KB', () =>
    store.complete(claimOf(third), 'x'.repeat(48)),
  );
  metered.close();
  await proxy.stop();
  await running.stop();
  return costs.filter(({ transition }) => !transition.endsWith('(again)'));
}

const sumOf = (tallies: readonly { readonly requestBytes: number; readonly replyBytes: number }[]) => ({
  requestBytes: tallies.reduce((sum, each) => sum + each.requestBytes, 0),
  replyBytes: tallies.reduce((sum, each) => sum + each.replyBytes, 0),
});
