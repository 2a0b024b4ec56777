import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import {
  availableEngines,
  type DynamoDbEngine,
  type DynamoDbEngineName,
  noEngineMessage,
  startDynamoDb,
} from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { type SqsEngine, startSqs } from '../../lib/tools/dev/engines/sqs-engine.ts';

/** A DynamoDB engine that runs for the whole test run, shared by all suites: use table names of your own. */
export type SharedDynamoDb = Omit<DynamoDbEngine, 'stop'>;

declare module 'vitest' {
  export interface ProvidedContext {
    readonly dynamoDbEngines: readonly SharedDynamoDb[];
    readonly noDynamoDbReason: string;
    readonly sqsEndpoint: string;
  }
}

type Started = {
  readonly dynamoDb: readonly DynamoDbEngine[];
  readonly noDynamoDbReason: string;
  readonly sqs: SqsEngine;
};
type Shared = { users: number; started: Promise<Started> };

/** For quick rounds while developing: a comma-separated list of the engines to start. */
const ONLY_ENGINES = 'TEST_ENGINES';

const wanted = (engine: DynamoDbEngineName) => {
  const only = process.env[ONLY_ENGINES];
  return only === undefined || only.split(',').includes(engine);
};

/** Fills the compile cache (vitest.config.ts) by a process that ends in peace: those that are killed leave nothing there. */
async function compileOnce(environment: object): Promise<void> {
  const worker = new URL('../../lib/worker/index.ts', import.meta.url).href;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', `import '${worker}';`], {
    env: { ...process.env, ...environment },
  });
}

async function start(environment: object): Promise<Started> {
  const engines = await availableEngines();
  const startable = engines.filter((each) => each.available && wanted(each.engine));
  for (const each of engines) {
    if (!each.available) console.warn(`Suites do not run on ${each.engine}: ${each.reason}.`);
  }
  const noDynamoDbReason = startable.length > 0 ? '' : noEngineMessage(engines);
  if (noDynamoDbReason !== '') console.error(noDynamoDbReason);
  const [sqs, , ...dynamoDb] = await Promise.all([
    startSqs(),
    compileOnce(environment),
    ...startable.map(({ engine }) => startDynamoDb({ engine })),
  ]);
  return { dynamoDb, noDynamoDbReason, sqs };
}

// Each project loads this module anew, and they must share one set of engines.
const holder = globalThis as { leaseholdTestEngines?: Shared };

/** Starts every available engine once for all projects that name this file, and stops them after the last one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  holder.leaseholdTestEngines ??= { users: 0, started: start(project.config.env) };
  const shared = holder.leaseholdTestEngines;
  shared.users += 1;
  const { dynamoDb, noDynamoDbReason, sqs } = await shared.started;
  project.provide(
    'dynamoDbEngines',
    dynamoDb.map(({ stop: _stop, ...rest }) => rest),
  );
  project.provide('noDynamoDbReason', noDynamoDbReason);
  project.provide('sqsEndpoint', sqs.endpoint);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete holder.leaseholdTestEngines;
    await Promise.all([sqs.stop(), ...dynamoDb.map((engine) => engine.stop())]);
  };
}
