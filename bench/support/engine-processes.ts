import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type DynamoDbEngineName, startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';

/** The engines that stand in for AWS: neither shares a process with what is measured. */
export interface EngineProcesses {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly engine: DynamoDbEngineName;
  stop(): Promise<void>;
}

export async function startEngineProcesses(engine?: DynamoDbEngineName): Promise<EngineProcesses> {
  const dynamodb = await startDynamoDb(engine === undefined ? {} : { engine });
  const program = new URL('./sqs-server.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [sqs] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    dynamodb: dynamodb.endpoint,
    sqs,
    engine: dynamodb.engine,
    async stop() {
      child.stdin.end();
      await Promise.all([exited, dynamodb.stop()]);
    },
  };
}
