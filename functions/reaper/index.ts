import middy from '@middy/core';
import type { Context, ScheduledEvent } from 'aws-lambda';
import { systemChance, systemClock } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createEventBridgeEvents, noEvents } from '../../lib/aws/eventbridge.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import { createClockGuard } from '../../lib/protocol/clock-guard.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { type WatchDeps, type WatchResult, watch } from '../../lib/reaper/watch.ts';
import { configurationFromEnvironment } from '../../lib/settings/environment.ts';

const { resources, settings } = configurationFromEnvironment(process.env);
const { tableName, queueUrl, serviceName, eventBusName } = resources;
const clock = systemClock;
const telemetry = createPowertoolsTelemetry({ serviceName });
const clockGuard = createClockGuard(settings);
const table = createDynamoDbTable({ client: createDynamoDbClient({ clock, clockGuard }), tableName });
const name = `reaper/${systemChance.unique()}`;

const deps: WatchDeps = {
  name,
  table,
  store: createJobStore({ table, clock, chance: systemChance, settings, actor: name }),
  queue: createSqsQueue({ client: createSqsClient(), queueUrl, clock }),
  telemetry,
  events: settings.eventsEnabled
    ? createEventBridgeEvents({ busName: eventBusName, serviceName, telemetry })
    : noEvents,
  clock,
  settings,
  clockGuard,
  flush: () => telemetry.flush(),
};

/** What the last page of a sweep and giving up the lead may take. */
const MARGIN_MS = 10_000;

/** Watches the leases for as long as this invocation may. */
export const handler = middy<ScheduledEvent, WatchResult, Error, Context>().handler((_event, context) => {
  const timeLeft = Math.max(0, context.getRemainingTimeInMillis() - MARGIN_MS);
  return watch(deps, { deadlineAt: clock.now() + Math.min(settings.watchMs, timeLeft) });
});
