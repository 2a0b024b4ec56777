import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { systemClock, systemRandom } from '../lib/aws/clock.ts';
import { createDynamoDbClient } from '../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../lib/aws/dynamodb/dynamodb-table.ts';
import { noEvents } from '../lib/aws/eventbridge.ts';
import { createSqsClient } from '../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../lib/aws/sqs/sqs-queue.ts';
import { createPowertoolsTelemetry } from '../lib/aws/telemetry.ts';
import { createJobStore } from '../lib/protocol/store/job-store.ts';
import type { ReaperDeps } from '../lib/reaper/deps.ts';
import { sweep } from '../lib/reaper/sweep.ts';
import { defaultSettings } from '../lib/settings/settings.ts';
import { startDynamoDb } from '../lib/tools/dev/engines/dynamodb-engine.ts';
import { startSqs } from '../lib/tools/dev/engines/sqs-engine.ts';
import { reaperOnEngine } from '../test/support/reaper-on-engine.ts';
import { spreadOf } from './support/statistics.ts';

/**
 * What the reaper costs, measured in a process of its own on real engines: requests and CPU a reclaimed job, heap while
 * paging, requests of an empty sweep beside many finished and many healthy jobs. Run by
 * `npx node bench/reaper-cost.ts`, or `… dynamodb-local` for the official engine. `… pairs <another checkout> [how many]` compares
 * the CPU of this version with the other's, in alternating pairs.
 */

interface Order {
  readonly dynamoDbEndpoint: string;
  readonly queueUrl: string;
  readonly tableName: string;
  /** Watch the heap, at the price of the CPU figure. */
  readonly heap: boolean;
  /** Swept first, so that the code is compiled when it counts. */
  readonly warmUpTable?: string;
}

interface Outcome {
  readonly reclaimed: number;
  /** CPU time of one small request by itself: tells this machine's mood from the reaper's appetite. */
  readonly requestCpuMs: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly peakHeapMb: number;
}

const local = { region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
const settings = defaultSettings;
const REQUESTS = 1000;
const LANES = 16;
const RUNS = 5;
const PAIRS = 10;
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

function depsOf({ dynamoDbEndpoint, queueUrl, tableName }: Order): ReaperDeps {
  const clock = systemClock;
  const client = createDynamoDbClient({ clock, config: { ...local, endpoint: dynamoDbEndpoint } });
  const table = createDynamoDbTable({ client, tableName });
  const sqs = createSqsClient({ ...local, endpoint: new URL(queueUrl).origin });
  return {
    table,
    store: createJobStore({ table, clock, random: systemRandom, settings, actor: 'reaper' }),
    queue: createSqsQueue({ client: sqs, queueUrl, clock }),
    telemetry: createPowertoolsTelemetry({ serviceName: 'bench' }),
    events: noEvents,
    clock,
    random: systemRandom,
    settings,
  };
}

/** In the child: a sweep of the table to warm up, if there is one, then the one that is measured. */
async function measured(order: Order): Promise<Outcome> {
  if (order.warmUpTable !== undefined) await sweep(depsOf({ ...order, tableName: order.warmUpTable }));
  const deps = depsOf(order);
  let peak = 0;
  const sample = () => {
    globalThis.gc?.();
    peak = Math.max(peak, process.memoryUsage().heapUsed);
  };
  const sampling = order.heap ? setInterval(sample, 100) : undefined;
  const began = performance.now();
  const cpu = process.cpuUsage();
  const { reclaimed } = await sweep(deps);
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = performance.now() - began;
  clearInterval(sampling);
  const requestCpuMs = await cpuOfOneRequest(deps);
  return { reclaimed, cpuMs: (user + system) / 1000, wallMs, peakHeapMb: peak / 2 ** 20, requestCpuMs };
}

async function cpuOfOneRequest({ table }: ReaperDeps): Promise<number> {
  const cpu = process.cpuUsage();
  const lane = async () => {
    for (let i = 0; i < REQUESTS / LANES; i++) await table.read('absent');
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1000 / REQUESTS;
}

async function inChild(order: Order, checkout = join(import.meta.dirname, '..')): Promise<Outcome> {
  const child = fork(join(checkout, 'bench', 'reaper-cost.ts'), ['child'], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send(order);
  const [outcome] = (await once(child, 'message')) as [Outcome];
  await once(child, 'exit');
  return outcome;
}

/** Both versions reclaim as many jobs on the same engine, first the one, then the other, turn about. */
async function pairs(other: string, count: number): Promise<void> {
  const [dynamoDb, sqs] = await Promise.all([startDynamoDb({ engine: 'dynoxide' }), startSqs()]);
  const seeded = async () => {
    const system = await reaperOnEngine({ engine: dynamoDb, queues: sqs.endpoint });
    await system.seed(ids('lapsed', 10_000).map((id) => system.running(id, 60_000)));
    return system;
  };
  const cpuOf = async (checkout: string) => {
    const [system, warmUp] = [await seeded(), await seeded()];
    const { cpuMs, reclaimed } = await inChild(
      {
        dynamoDbEndpoint: dynamoDb.endpoint,
        queueUrl: `${sqs.endpoint}${new URL(system.queueUrl).pathname}`,
        tableName: system.tableName,
        heap: false,
        warmUpTable: warmUp.tableName,
      },
      checkout,
    );
    await Promise.all([system.close(), warmUp.close()]);
    return cpuMs / reclaimed;
  };
  const here = join(import.meta.dirname, '..');
  for (let pair = 1; pair <= count; pair++) {
    const figures = new Map<string, number>();
    for (const checkout of pair % 2 === 0 ? [here, other] : [other, here])
      figures.set(checkout, await cpuOf(checkout));
    const [mine = 0, others = 0] = [figures.get(here), figures.get(other)];
    console.log(
      `pair ${pair}: ${others.toFixed(3)} ms CPU a job there, ${mine.toFixed(3)} here, ${((mine / others - 1) * 100).toFixed(1)} %`,
    );
  }
  await Promise.all([dynamoDb.stop(), sqs.stop()]);
}

async function run(): Promise<void> {
  const engine = process.argv[2] === 'dynamodb-local' ? 'dynamodb-local' : 'dynoxide';
  const [dynamoDb, sqs] = await Promise.all([startDynamoDb({ engine }), startSqs()]);
  const scene = () => reaperOnEngine({ engine: dynamoDb, queues: sqs.endpoint });
  const seeded = async (jobs: number) => {
    const system = await scene();
    await system.seed(ids('lapsed', jobs).map((id) => system.running(id, 60_000)));
    return system;
  };
  const reclaim = async (jobs: number, how: { readonly heap?: boolean; readonly warm?: boolean } = {}) => {
    const system = await seeded(jobs);
    const warmUp = how.warm ? await seeded(jobs) : undefined;
    // Counted by proxies, which would take processor time from what is measured: CPU is measured past them.
    const counted = how.heap === true;
    const queuePath = new URL(system.queueUrl).pathname;
    const outcome = await inChild({
      dynamoDbEndpoint: counted ? system.dynamodb.endpoint : dynamoDb.endpoint,
      queueUrl: counted ? system.queueUrl : `${sqs.endpoint}${queuePath}`,
      tableName: system.tableName,
      heap: counted,
      warmUpTable: warmUp?.tableName,
    });
    const requestsPerJob = (system.requests() - REQUESTS) / outcome.reclaimed;
    await Promise.all([system.close(), warmUp?.close()]);
    return { ...outcome, cpuMsPerJob: outcome.cpuMs / outcome.reclaimed, requestsPerJob };
  };
  for (const warm of [false, true]) {
    const runs = [];
    for (let run = 0; run < RUNS; run++) runs.push(await reclaim(10_000, { warm }));
    const [{ reclaimed } = { reclaimed: 0 }] = runs;
    const told = (figures: readonly number[]) => {
      const { median = 0, lowest = 0, highest = 0 } = spreadOf(figures) ?? {};
      return `${median.toFixed(3)} (${lowest.toFixed(3)} to ${highest.toFixed(3)})`;
    };
    console.log(
      `${reclaimed} jobs, ${warm ? 'warm' : 'cold'}: ` +
        // Beside the price of a lone request, which the machine's load drives up as well.
        `${told(runs.map((run) => run.cpuMsPerJob))} ms CPU a job, ${told(runs.map((run) => run.requestCpuMs))} a lone request`,
    );
  }
  for (const jobs of [2000, 10_000]) {
    const { peakHeapMb, requestsPerJob } = await reclaim(jobs, { heap: true });
    console.log(
      `${jobs} jobs: heap at most ${peakHeapMb.toFixed(1)} MB, ${requestsPerJob.toFixed(4)} requests a job`,
    );
  }
  const system = await scene();
  const { deps } = system.reaper();
  for (const [what, rows] of [
    ['an empty table', []],
    ['5,000 healthy running jobs', ids('healthy', 5000).map((id) => system.running(id, -86_400_000))],
    ['and 100,000 finished ones', ids('done', 100_000).map(system.finished)],
  ] as const) {
    await system.seed(rows);
    const before = system.requests();
    await sweep(deps);
    console.log(`${what}: ${system.requests() - before} requests for an empty sweep`);
  }
  await system.close();
  await Promise.all([dynamoDb.stop(), sqs.stop()]);
}

if (process.argv[2] === 'child') {
  process.once('message', async (order) => {
    process.send?.(await measured(order as Order));
    process.disconnect();
  });
} else if (process.argv[2] === 'pairs') {
  await pairs(resolve(process.argv[3] ?? ''), Number(process.argv[4] ?? PAIRS));
} else {
  await run();
}
