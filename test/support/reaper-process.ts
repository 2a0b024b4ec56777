import { createDynamoDbClient } from '../../lib/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/dynamodb/dynamodb-table.ts';
import { noEvents } from '../../lib/events/eventbridge-events.ts';
import { createClockGuard } from '../../lib/jobs/clock-guard.ts';
import { createJobStore } from '../../lib/jobs/job-store.ts';
import { configurationFromEnvironment } from '../../lib/jobs/settings-environment.ts';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import { createSqsClient } from '../../lib/sqs/client.ts';
import { createSqsQueue } from '../../lib/sqs/sqs-queue.ts';
import { systemClock as clock, systemChance } from '../../lib/system/system-clock.ts';
import { createPowertoolsTelemetry } from '../../lib/telemetry/powertools-telemetry.ts';

/** A reaper alone in its process. Run as a program. */
const { resources, settings } = configurationFromEnvironment(process.env);
const clockGuard = createClockGuard(settings);
const client = createDynamoDbClient({ clock, clockGuard });
const table = createDynamoDbTable({ client, tableName: resources.tableName });
const name = `reaper/${systemChance.unique()}`;
const telemetry = createPowertoolsTelemetry({ serviceName: resources.serviceName });
const reaper = createEmbeddedReaper({
  name,
  table,
  store: createJobStore({ table, clock, chance: systemChance, settings, actor: name }),
  queue: createSqsQueue({ client: createSqsClient(), queueUrl: resources.queueUrl, clock }),
  telemetry,
  events: noEvents,
  clock,
  settings,
  clockGuard,
  flush: telemetry.flush,
});
reaper.start();
process.send?.('started');
process.on('SIGTERM', () => void reaper.stop().then(() => process.exit(0)));
