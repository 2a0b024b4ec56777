import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { noEvents } from '../../lib/aws/eventbridge.ts';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { claimWrite, completeWrite } from '../../lib/protocol/writes/worker-writes.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { createMeteredStore, type MeteredStore } from '../support/metered-store.ts';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { jobId } from '../systems/system.ts';

/** The cost of one sweep of the reaper, against the size of one thing. */
interface ScalePoint {
  readonly size: number;
  readonly requests: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly ms: Spread | undefined;
  readonly reclaimed: number;
}

export interface Scaling {
  readonly finished: readonly ScalePoint[];
  readonly healthy: readonly ScalePoint[];
  readonly lapsed: readonly ScalePoint[];
}

export const scalingSettings = defaultSettings;
const settings = scalingSettings;
const SWEEPS = 5;
const HOUR = 3_600_000;

type Kind = keyof Scaling;

/** Sweeps a table with ever more finished rows, with ever more healthy leases, and with ever more lapsed ones. */
export async function scaling(
  sizes: Readonly<Record<Kind, readonly number[]>>,
  say: (text: string) => void,
): Promise<Scaling> {
  const results: Record<Kind, ScalePoint[]> = { finished: [], healthy: [], lapsed: [] };
  for (const kind of ['finished', 'healthy', 'lapsed'] as const) {
    const engine = await startDynamoDb();
    const emptyStore = () => createMeteredStore({ endpoint: engine.endpoint, clock: systemClock, settings });
    let metered = await emptyStore();
    let held = 0;
    for (const size of sizes[kind]) {
      const sweeps: OneSweep[] = [];
      for (let run = 0; run < SWEEPS; run += 1) {
        // What has lapsed is gone after one sweep, and what became of it must not lapse in the next.
        if (kind === 'lapsed' && held > 0) {
          metered.close();
          metered = await emptyStore();
          held = 0;
        }
        await fill(metered, kind, size - held);
        held = size;
        sweeps.push(await oneSweep(metered));
      }
      const point = pointOf(size, sweeps);
      say(`sweep of ${size} ${kind}: ${point.requests} requests, ${Math.round(point.ms?.median ?? 0)} ms`);
      results[kind].push(point);
    }
    metered.close();
    await engine.stop();
  }
  return results;
}

type OneSweep = Omit<ScalePoint, 'size' | 'ms'> & { readonly ms: number };

async function oneSweep({ table, store, meter }: MeteredStore): Promise<OneSweep> {
  meter.reset();
  const from = performance.now();
  const { reclaimed } = await sweep(
    {
      ...{
        table,
        store,
        clock: systemClock,
        random: systemRandom,
        settings,
        events: noEvents,
        telemetry: silent,
      },
      queue: { sendHints: async (hints) => ({ sent: hints.length, failed: [] }) },
    },
    { shards: settings.shards },
  );
  const ms = performance.now() - from;
  const { Query = 0, ...writes } = meter.units;
  const writeUnits = Object.values(writes).reduce((sum, units) => sum + units, 0);
  return { requests: meter.requests, readUnits: Query, writeUnits, ms, reclaimed };
}

/** Times vary; what a sweep asks for does so by a page at most, where rows fall on the shards by chance. */
function pointOf(size: number, sweeps: readonly OneSweep[]): ScalePoint {
  const middle = (figure: (sweep: OneSweep) => number) => spreadOf(sweeps.map(figure))?.median ?? 0;
  return {
    size,
    requests: middle((each) => each.requests),
    readUnits: middle((each) => each.readUnits),
    writeUnits: middle((each) => each.writeUnits),
    ms: spreadOf(sweeps.map((each) => each.ms)),
    reclaimed: middle((each) => each.reclaimed),
  };
}

/** Rows as the protocol writes them, put in by the quickest way that the engine has. */
export async function fill({ client, tableName }: MeteredStore, kind: Kind, count: number): Promise<void> {
  const rows = Array.from({ length: Math.ceil(count / 25) }, (_, i) => Math.min(25, count - i * 25));
  const put = async (many: number) => {
    const requests = Array.from({ length: many }, () => ({
      PutRequest: { Item: marshall(rowOf(kind), { removeUndefinedValues: true }) },
    }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: requests } }));
  };
  const lane = async () => {
    for (let many = rows.pop(); many !== undefined; many = rows.pop()) await put(many);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

function rowOf(kind: Kind): Row {
  const now = Date.now();
  const { leaseMs, maxAttempts, maxCrashes, shards } = settings;
  const job = { jobId: jobId(), type: 'bench', payload: '{"a":1}', leaseMs, maxAttempts, maxCrashes };
  const at = (moment: number) => ({
    changedBy: 'bench/0123456789ab',
    now: moment,
    shards,
    expiresAt: Math.ceil(now / 1000) + 86_400,
  });
  const startedAt = kind === 'healthy' ? now + HOUR : now - HOUR;
  const claimed = rowAfter(
    claimWrite({ job, owner: 'bench/1', skewMs: 0, typeLimits: settings }, at(startedAt)),
    undefined,
  );
  if (kind !== 'finished') return claimed;
  return rowAfter(completeWrite(claimOf(parseJob(claimed) as RunningJob), undefined, at(now)), claimed);
}

/** Telemetry that nobody reads. */
export const silent = { info() {}, warn() {}, error() {}, count() {}, gauge() {} };
