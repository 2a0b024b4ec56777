import { systemClock as clock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { noEvents } from '../../lib/aws/eventbridge.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import { createClockGuard } from '../../lib/protocol/clock-guard.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import { configurationFromEnvironment } from '../../lib/settings/environment.ts';

/** A reaper alone in its process. Run as a program. */
const { resources, settings } = configurationFromEnvironment(process.env);
const clockGuard = createClockGuard({ skewMs: settings.skewMs, clock });
const client = createDynamoDbClient({ clock, clockGuard });
const table = createDynamoDbTable({ client, tableName: resources.tableName });
const name = `reaper/${systemRandom.unique()}`;
const telemetry = createPowertoolsTelemetry({ serviceName: resources.serviceName });
const reaper = createEmbeddedReaper({
  name,
  table,
  store: createJobStore({ table, clock, random: systemRandom, settings, actor: name }),
  queue: createSqsQueue({ client: createSqsClient(), queueUrl: resources.queueUrl, clock }),
  telemetry,
  events: noEvents,
  clock,
  random: systemRandom,
  settings,
  clockGuard,
});
reaper.start();
process.send?.('started');
process.on('SIGTERM', () => void reaper.stop().then(() => process.exit(0)));
