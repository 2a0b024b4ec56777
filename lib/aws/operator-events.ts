import type { EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import type { Events } from '../protocol/ports.ts';

/** Where an operator's or application's acts are told of. */
export interface OperatorEventsOptions {
  /** The name of the event bus. */
  readonly bus: string;
  /** The deployment's name, as its own events carry it. */
  readonly service: string;
  /** Told of events that could not be published. @default - nobody is told */
  readonly onProblem?: (problem: string) => void;
  /** @default - the standard chain of the AWS SDK */
  readonly config?: EventBridgeClientConfig;
}

/** Events of those who seldom have one to tell: EventBridge's client is loaded with the first. */
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
