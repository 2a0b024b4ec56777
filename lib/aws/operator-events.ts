import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import type { Events } from '../protocol/ports.ts';

export interface OperatorEventsOptions {
  readonly bus: string;
  readonly service: string;
  readonly onProblem?: (problem: string) => void;
  /** @default - the AWS SDK's standard chain */
  readonly config?: EventBridgeClientConfig;
}

/** Loads the EventBridge client with the first event, because most callers have none. */
export function createOperatorEvents({ bus, service, onProblem, config }: OperatorEventsOptions): Events {
  const warn = (message: string, fields?: Readonly<Record<string, unknown>>) =>
    onProblem?.(`${message}: ${String(fields?.reason ?? `bus ${bus}`)}`);
  let events: Promise<Events> | undefined;
  return {
    async publish(given) {
      events ??= import('./eventbridge.ts').then(({ createEventBridgeEvents }) =>
        createEventBridgeEvents({ busName: bus, serviceName: service, telemetry: { warn }, config }),
      );
      await (await events).publish(given);
    },
  };
}
