import { connect } from '../../lib/aws/connect.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { startConsole } from '../../lib/tools/console/start-console.ts';
import { demoSettings } from '../../lib/tools/dev/demo/settings.ts';
import { localConsole } from '../../lib/tools/dev/local-console.ts';
import { localEnvironment } from '../../lib/tools/dev/local-environment.ts';
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../../lib/tools/dev/stack.ts';

/** The local stack with its console, as `leasehold dev` starts them, on engines of its own. */
export interface LocalConsole {
  readonly stack: LocalStack;
  readonly console: Awaited<ReturnType<typeof startConsole>>;
  readonly store: JobStore;
  stop(): Promise<void>;
}

export async function startLocalConsole(
  options: Pick<LocalStackOptions, 'pools' | 'workers'> = {},
): Promise<LocalConsole> {
  const stack = await startLocalStack({
    ...options,
    settings: demoSettings,
    jobs: new URL('../../examples/demo.ts', import.meta.url).pathname,
    surroundings: {},
  });
  const { settings, tableName, endpoints } = stack;
  const config = localEnvironment.clientConfig(stack.environment);
  const aws = connect({
    ...{ tableName, settings },
    dynamodb: { ...config, endpoint: endpoints.dynamodb },
    sqs: { ...config, endpoint: endpoints.sqs },
  });
  const store = aws.storeOf('test');
  const console = await startConsole({ ...localConsole(stack, aws), store });
  return {
    ...{ stack, console, store },
    async stop() {
      await console.stop();
      await stack.stop();
      aws.close();
    },
  };
}
