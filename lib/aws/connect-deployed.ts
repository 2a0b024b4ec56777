import { hostname } from 'node:os';
import type { Configuration } from '../settings/environment.ts';
import { systemClock, systemRandom } from './clock.ts';
import { type ConnectOptions, connect, identityOf } from './connect.ts';
import { reportThrottles } from './dynamodb/count-throttles.ts';
import { createEventBridgeEvents, noEvents } from './eventbridge.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from './telemetry.ts';

export interface ConnectDeployedOptions extends Pick<ConnectOptions, 'dynamodb' | 'sqs' | 'polls'> {
  readonly configuration: Configuration;
  /** @default - host name, process ID and a random suffix */
  readonly actor?: string;
  readonly telemetry?: PowertoolsTelemetry;
}

export function connectDeployed(options: ConnectDeployedOptions) {
  const { configuration, dynamodb, sqs, polls } = options;
  const { actor = `${hostname()}-${process.pid}-${systemRandom.unique()}` } = options;
  const { settings, resources, routing } = configuration;
  const { tableName, queueUrl, serviceName, eventBusName } = resources;
  const telemetry = options.telemetry ?? createPowertoolsTelemetry({ serviceName, ...settings });
  const onStoreFailures = (requests: number) => telemetry.count('StoreFailures', requests);
  const onThrottled = reportThrottles(telemetry, systemClock);
  const connection = connect({ tableName, settings, dynamodb, sqs, polls, onStoreFailures, onThrottled });
  return {
    ...connection,
    actor,
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
          config: identityOf(dynamodb),
        })
      : noEvents,
  };
}
