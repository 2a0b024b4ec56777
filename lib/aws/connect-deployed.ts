import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import type { Configuration } from '../settings/environment.ts';
import { systemClock } from './clock.ts';
import { type ConnectOptions, connect, identityOf } from './connect.ts';
import { reportThrottles } from './dynamodb/count-throttles.ts';
import { createEventBridgeEvents, noEvents } from './eventbridge.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from './telemetry.ts';

export interface ConnectDeployedOptions extends Pick<ConnectOptions, 'dynamodb' | 'sqs' | 'polls'> {
  readonly configuration: Configuration;
  readonly actor: string;
  readonly telemetry?: PowertoolsTelemetry;
  /** @default - region and credentials of `dynamodb`, so that an assumed role reaches every client */
  readonly eventbridge?: EventBridgeClientConfig;
}

export function connectDeployed(options: ConnectDeployedOptions) {
  const { configuration, actor, dynamodb, sqs, polls } = options;
  const { settings, resources, routing } = configuration;
  const { tableName, queueUrl, serviceName, eventBusName } = resources;
  const telemetry = options.telemetry ?? createPowertoolsTelemetry({ serviceName, ...settings });
  const onStoreFailures = (requests: number) => telemetry.count('StoreFailures', requests);
  const onThrottled = reportThrottles(telemetry, systemClock);
  const connection = connect({ tableName, settings, dynamodb, sqs, polls, onStoreFailures, onThrottled });
  return {
    ...connection,
    settings,
    telemetry,
    store: connection.storeOf(actor),
    queue: connection.queueAt(queueUrl, routing),
    routing,
    events: settings.eventsEnabled
      ? createEventBridgeEvents({
          busName: eventBusName,
          serviceName,
          telemetry,
          config: options.eventbridge ?? identityOf(dynamodb),
        })
      : noEvents,
  };
}
