import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import type { Events, JobQueue, JobStore } from '../protocol/ports.ts';
import type { Configuration } from '../settings/environment.ts';
import type { Settings } from '../settings/settings.ts';
import { type Connection, type ConnectOptions, connect, identityOf } from './connect.ts';
import { createEventBridgeEvents, noEvents } from './eventbridge.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from './telemetry.ts';

export interface ConnectDeployedOptions extends Pick<ConnectOptions, 'dynamodb' | 'sqs' | 'polls'> {
  readonly configuration: Configuration;
  /** Who acts: rows record this name in `changedBy`. */
  readonly actor: string;
  readonly telemetry?: PowertoolsTelemetry;
  /** @default - region and credentials of `dynamodb`, so that a role assumed in code reaches every client */
  readonly eventbridge?: EventBridgeClientConfig;
}

/** What a worker or a reaper needs: the connection, and where its logs, metrics and events go. */
export interface DeployedConnection extends Connection {
  readonly settings: Settings;
  readonly store: JobStore;
  readonly queue: JobQueue;
  readonly telemetry: PowertoolsTelemetry;
  readonly events: Events;
}

/** Connects to the system that a configuration names, with logs, metrics and events as its settings ask for them. */
export function connectDeployed(options: ConnectDeployedOptions): DeployedConnection {
  const { configuration, actor, dynamodb, sqs } = options;
  const { settings, resources } = configuration;
  const { tableName, queueUrl, serviceName, eventBusName } = resources;
  const telemetry = options.telemetry ?? createPowertoolsTelemetry({ serviceName, ...settings });
  const onStoreFailures = (requests: number) => telemetry.count('StoreFailures', requests);
  const onThrottled = (requests: number) => telemetry.count('RequestsThrottled', requests);
  const connection = connect({
    ...{ tableName, settings, dynamodb, sqs, onStoreFailures, onThrottled },
    polls: options.polls,
  });
  return {
    ...connection,
    settings,
    telemetry,
    store: connection.storeOf(actor),
    queue: connection.queueAt(queueUrl),
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
