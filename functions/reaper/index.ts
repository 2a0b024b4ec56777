import middy from '@middy/core';
import type { Context, ScheduledEvent } from 'aws-lambda';
import { createDynamoDbClient } from '../../lib/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/dynamodb/dynamodb-table.ts';
import { createEventBridgeEvents, noEvents } from '../../lib/events/eventbridge-events.ts';
import { createClockGuard } from '../../lib/jobs/clock-guard.ts';
import { createJobStore } from '../../lib/jobs/job-store.ts';
import { configurationFromEnvironment } from '../../lib/jobs/settings-environment.ts';
import { type WatchDeps, type WatchResult, watch } from '../../lib/reaper/watch.ts';
import { createSqsClient } from '../../lib/sqs/client.ts';
import { createSqsQueue } from '../../lib/sqs/sqs-queue.ts';
import { systemChance, systemClock } from '../../lib/system/system-clock.ts';
import { createPowertoolsTelemetry } from '../../lib/telemetry/powertools-telemetry.ts';

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
