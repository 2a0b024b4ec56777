import { systemChance, systemClock } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createTableInspection } from '../../lib/aws/dynamodb/table-inspection.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { type Console, startConsole } from '../../lib/console/start-console.ts';
import { consoleWorkers } from '../../lib/local/console-workers.ts';
import { demoSettings } from '../../lib/local/demo/settings.ts';
import { localEnvironment } from '../../lib/local/local-environment.ts';
import { type LocalStack, startLocalStack } from '../../lib/local/stack.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';

/** The local stack with its console, as `leasehold dev` starts them, on engines of its own. */
export interface LocalConsole {
  readonly stack: LocalStack;
  readonly console: Console;
  readonly store: JobStore;
  stop(): Promise<void>;
}

export async function startLocalConsole(): Promise<LocalConsole> {
  const stack = await startLocalStack({
    settings: demoSettings,
    entries: { worker: new URL('../../lib/local/demo/worker.ts', import.meta.url).pathname },
    surroundings: {},
  });
  const { settings, tableName, endpoints } = stack;
  const config = localEnvironment.clientConfig(stack.environment);
  const clock = systemClock;
  const client = createDynamoDbClient({ clock, config: { ...config, endpoint: endpoints.dynamodb } });
  const sqs = createSqsClient({ ...config, endpoint: endpoints.sqs });
  const table = createDynamoDbTable({ client, tableName });
  const store = createJobStore({ table, clock, chance: systemChance, settings, actor: 'test' });
  const console = await startConsole({
    ...{ tableName, table, store, settings, clock },
    queue: createSqsQueue({ client: sqs, queueUrl: stack.queueUrl, clock }),
    scan: createTableInspection({ client, tableName }).scan,
    local: consoleWorkers(stack),
  });
  return {
    ...{ stack, console, store },
    async stop() {
      await console.stop();
      await stack.stop();
      client.destroy();
      sqs.destroy();
    },
  };
}
