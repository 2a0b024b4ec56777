import { writeSync } from 'node:fs';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { systemChance, systemClock } from '../../aws/clock.ts';
import { createDynamoDbClient } from '../../aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../aws/dynamodb/dynamodb-table.ts';
import { createJobStore } from '../../protocol/store/job-store.ts';
import { createHeartLoop } from '../run/heart-loop.ts';
import { openLeaseClock } from '../run/lease-clock.ts';
import type { FromThread, HeartConnection, HeartThreadData, ToThread } from './thread-messages.ts';

/** Connections that heartbeats may use at once. */
const MAX_SOCKETS = 16;
const STDOUT = 1;

/**
 * The heart's thread. It has its own client, so that a handler which keeps the main thread busy does not keep beats from
 * being sent; and it writes its log by a system call, because a thread's own stdout goes through the main thread.
 */
function runHeartThread(port: NonNullable<typeof parentPort>, data: HeartThreadData): void {
  const connection = data.leaseholdHeart;
  const pulse = new BigInt64Array(data.pulse);
  const say = (message: FromThread) => port.postMessage(message);
  const heart = createHeartLoop({
    clock: systemClock,
    chance: systemChance,
    store: storeOf(connection),
    stalledForMs: () => systemClock.monotonic() - Number(Atomics.load(pulse, 0)),
    onFailure: ({ jobId, attempt }, error) =>
      log(connection, 'heartbeat failed', {
        jobId,
        attempt,
        reason: error instanceof Error ? error.message : String(error),
      }),
  });
  const hear = (message: ToThread) => {
    switch (message.kind) {
      case 'start':
        return heart.start({
          ...message.vitals,
          claim: message.claim,
          lease: openLeaseClock(systemClock, message.lease),
          onReport: (report) => say({ kind: 'report', owner: message.claim.owner, report }),
        });
      case 'stop':
        return heart.stop(message.claim);
      case 'quiet':
        return void heart.quiet().then(() => say({ kind: 'quiet', turn: message.turn }));
      case 'close':
        return void heart.close().then(() => port.close());
    }
  };
  port.on('message', (messages: readonly ToThread[]) => messages.forEach(hear));
  say({ kind: 'ready' });
}

function storeOf({ tableName, settings, worker, aws }: HeartConnection) {
  const client = createDynamoDbClient({
    clock: systemClock,
    maxSockets: MAX_SOCKETS,
    config: aws,
  });
  return createJobStore({
    table: createDynamoDbTable({ client, tableName }),
    clock: systemClock,
    chance: systemChance,
    settings,
    actor: `${worker}/heart`,
  });
}

function log(connection: HeartConnection, message: string, fields: Readonly<Record<string, unknown>>): void {
  const line = {
    level: 'WARN',
    message,
    timestamp: new Date(systemClock.now()).toISOString(),
    service: connection.serviceName,
    worker: connection.worker,
    ...fields,
  };
  try {
    writeSync(STDOUT, `${JSON.stringify(line)}\n`);
  } catch {
    // A full pipe must not stop the heart.
  }
}

const data: unknown = workerData;
if (
  !isMainThread &&
  parentPort !== null &&
  typeof data === 'object' &&
  data !== null &&
  'leaseholdHeart' in data
)
  runHeartThread(parentPort, data as HeartThreadData);
