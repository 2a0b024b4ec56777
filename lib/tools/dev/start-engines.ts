import { join } from 'node:path';
import { type DynamoDbEngineName, startDynamoDb } from './engines/dynamodb-engine.ts';
import { startSqs } from './engines/sqs-engine.ts';

/** Where DynamoDB and SQS answer, and who they are. */
export interface Endpoints {
  readonly dynamodb: string;
  readonly sqs: string;
  /** The engine's name, or `given` for an endpoint from the standard AWS variables. */
  readonly engine: DynamoDbEngineName | 'given';
  /** False where other machines in the network can reach the engine, because it cannot be bound. */
  readonly boundToLoopback: boolean;
}

export interface Engines {
  readonly endpoints: Endpoints;
  stop(): Promise<void>;
}

/** Starts an engine for each service whose endpoint is not given by AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_SQS. */
export async function startEngines(
  options: {
    readonly engine?: DynamoDbEngineName;
    readonly dataDir?: string;
    readonly ports?: { readonly dynamodb?: number; readonly sqs?: number };
  },
  surroundings: Readonly<Record<string, string | undefined>>,
): Promise<Engines> {
  const { engine, dataDir, ports = {} } = options;
  const folder = (name: string) => dataDir && join(dataDir, name);
  const started = await Promise.allSettled([
    surroundings.AWS_ENDPOINT_URL_DYNAMODB
      ? given(surroundings.AWS_ENDPOINT_URL_DYNAMODB)
      : startDynamoDb({ engine, port: ports.dynamodb, dataDir: folder('dynamodb') }),
    surroundings.AWS_ENDPOINT_URL_SQS
      ? given(surroundings.AWS_ENDPOINT_URL_SQS)
      : startSqs({ port: ports.sqs, dataDir: folder('sqs') }),
  ]);
  const stop = async () => {
    await Promise.all(started.map((each) => (each.status === 'fulfilled' ? each.value.stop() : undefined)));
  };
  const [dynamodb, sqs] = started;
  if (dynamodb.status === 'rejected' || sqs.status === 'rejected') {
    await stop();
    throw dynamodb.status === 'rejected' ? dynamodb.reason : (sqs as PromiseRejectedResult).reason;
  }
  return {
    endpoints: {
      dynamodb: dynamodb.value.endpoint,
      sqs: sqs.value.endpoint,
      engine: 'engine' in dynamodb.value ? dynamodb.value.engine : 'given',
      boundToLoopback: 'boundToLoopback' in dynamodb.value ? dynamodb.value.boundToLoopback : true,
    },
    stop,
  };
}

/** Somebody else's engine: used as it is, and never stopped. */
const given = async (endpoint: string) => ({ endpoint, stop: async () => {} });
