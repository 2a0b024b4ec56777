import {
  EventBridgeClient,
  type EventBridgeClientConfig,
  PutEventsCommand,
} from '@aws-sdk/client-eventbridge';
import type { Events, Telemetry } from '../protocol/ports.ts';
import { EVENT_SOURCE } from '../wire/events.ts';
import { ownClientConfig, timeouts } from './client-defaults.ts';

/** EventBridge limit. */
const MAX_ENTRIES = 10;
const REQUEST_TIMEOUT_MS = 2000;

export interface EventBridgeEventsOptions {
  readonly busName: string;
  readonly serviceName: string;
  readonly telemetry: Pick<Telemetry, 'warn'>;
  readonly config?: EventBridgeClientConfig;
  readonly client?: EventBridgeClient;
}

/** Best effort: no job waits for an unresponsive bus. */
export function createEventBridgeEvents(options: EventBridgeEventsOptions): Events {
  const { busName, serviceName, telemetry } = options;
  let client = options.client;
  return {
    async publish(events) {
      client ??= new EventBridgeClient({
        maxAttempts: 2,
        requestHandler: timeouts(REQUEST_TIMEOUT_MS),
        ...ownClientConfig('EVENTBRIDGE'),
        ...options.config,
      });
      for (let start = 0; start < events.length; start += MAX_ENTRIES) {
        const batch = events.slice(start, start + MAX_ENTRIES);
        try {
          const reply = await client.send(
            new PutEventsCommand({
              Entries: batch.map(({ name, detail }) => ({
                EventBusName: busName,
                Source: EVENT_SOURCE,
                DetailType: name,
                Time: new Date(detail.at),
                Detail: JSON.stringify({ service: serviceName, ...detail }),
              })),
            }),
          );
          if (reply.FailedEntryCount)
            telemetry.warn('events refused by the bus', { busName, count: reply.FailedEntryCount });
        } catch (error) {
          telemetry.warn('events not published', {
            busName,
            count: batch.length,
            reason: error instanceof Error ? error.message : String(error),
          });
        }
      }
    },
  };
}

export const noEvents: Events = { publish: async () => {} };
