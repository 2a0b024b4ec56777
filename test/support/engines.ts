import { randomUUID } from 'node:crypto';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { describe, expect, inject, it } from 'vitest';
import { isDeep } from './depth.ts';
import type { SharedDynamoDb } from './engines-setup.ts';

export type { SharedDynamoDb };

/** What every client of a local engine needs besides its endpoint. */
export const local = {
  region: 'eu-west-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
} as const;

/** For clients that look on behalf of a test: on a busy machine an engine may take its time. */
export const patient = {
  ...local,
  requestHandler: { connectionTimeout: 60_000, requestTimeout: 60_000, httpAgent: { maxSockets: 64 } },
};

type EngineSuite = (engine: SharedDynamoDb) => void;

/** For suites about what DynamoDB does: declared once for each engine. Without any, one test fails and says what to install. */
export function describeOnEachEngine(title: string, suite: EngineSuite): void {
  describeOn(inject('dynamoDbEngines'), title, suite);
}

/** For suites about what is built on top of it: declared for one engine, and for each in the deep run. */
export function describeOnOneEngine(title: string, suite: EngineSuite): void {
  const engines = inject('dynamoDbEngines');
  describeOn(isDeep ? engines : engines.slice(0, 1), title, suite);
}

function describeOn(engines: readonly SharedDynamoDb[], title: string, suite: EngineSuite): void {
  if (engines.length === 0) {
    describe(title, () => {
      it('needs a DynamoDB engine', () => expect.fail(inject('noDynamoDbReason')));
    });
  }
  for (const engine of engines) describe(`${title} on ${engine.engine}`, () => suite(engine));
}

/** Some DynamoDB engine of this run, for suites whose subject is not the engine. */
export function anyEngine(): SharedDynamoDb {
  const [engine] = inject('dynamoDbEngines');
  if (engine === undefined) throw new Error(inject('noDynamoDbReason'));
  return engine;
}

/** The address of the SQS engine of this run. */
export const sqsEndpoint = (): string => inject('sqsEndpoint');

/** A DynamoDB client for an engine or a proxy in front of one; the caller destroys it. */
export const dynamoDbClient = (endpoint: string, config: DynamoDBClientConfig = {}): DynamoDBClient =>
  new DynamoDBClient({ ...local, endpoint, ...config });

/** An SQS client for the engine or a proxy in front of it; the caller destroys it. */
export const sqsClient = (endpoint: string, config: SQSClientConfig = {}): SQSClient =>
  new SQSClient({ ...local, endpoint, ...config });

/** Creates a queue under a name that no other suite uses, and returns its address. */
export async function createQueue(
  client: SQSClient,
  Attributes: Record<string, string> = {},
): Promise<string> {
  const { QueueUrl = '' } = await client.send(
    new CreateQueueCommand({ QueueName: uniqueName('queue'), Attributes }),
  );
  return QueueUrl;
}

/** A table or queue name that no other suite uses. */
export const uniqueName = (prefix: string): string => `${prefix}-${randomUUID()}`;
