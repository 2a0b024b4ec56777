import { join } from 'node:path';
import { type DynamoDbEngineName, startDynamoDb } from './engines/dynamodb-engine.ts';
import type { Gate } from './engines/gate.ts';
import { startSqs } from './engines/sqs-engine.ts';

export interface Endpoints {
  readonly dynamodb: string;
  readonly sqs: string;
  /** `given` means an endpoint from the standard AWS variables. */
  readonly engine: DynamoDbEngineName | 'given';
  /** False if other machines on the network can reach the engine. */
  readonly boundToLoopback: boolean;
}

/** Starts no engine for AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL_SQS. */
export async function startEngines(
  options: {
    readonly engine?: DynamoDbEngineName;
    readonly dataDir?: string;
    readonly ports?: { readonly dynamodb?: number; readonly sqs?: number };
  },
  gate: Gate,
  surroundings: Readonly<Record<string, string | undefined>>,
) {
  const { engine, dataDir, ports = {} } = options;
  const folder = (name: string) => dataDir && join(dataDir, name);
  const started = await Promise.allSettled([
    surroundings.AWS_ENDPOINT_URL_DYNAMODB
      ? given(surroundings.AWS_ENDPOINT_URL_DYNAMODB)
      : startDynamoDb({ engine, gate, port: ports.dynamodb, dataDir: folder('dynamodb') }),
    surroundings.AWS_ENDPOINT_URL_SQS
      ? given(surroundings.AWS_ENDPOINT_URL_SQS)
      : startSqs({ gate, port: ports.sqs, dataDir: folder('sqs') }),
  ]);
  const stop = async () => {
    await Promise.all(started.map((each) => (each.status === 'fulfilled' ? each.value.stop() : undefined)));
  };
  const [dynamodb, sqs] = started;
  if (dynamodb.status === 'rejected' || sqs.status === 'rejected') {
    await stop();
    throw dynamodb.status === 'rejected' ? dynamodb.reason : (sqs as PromiseRejectedResult).reason;
  }
  const endpoints: Endpoints = {
    dynamodb: dynamodb.value.endpoint,
    sqs: sqs.value.endpoint,
    engine: 'engine' in dynamodb.value ? dynamodb.value.engine : 'given',
    boundToLoopback: 'boundToLoopback' in dynamodb.value ? dynamodb.value.boundToLoopback : true,
  };
  return { endpoints, stop };
}

const given = async (endpoint: string) => ({ endpoint, stop: async () => {} });
