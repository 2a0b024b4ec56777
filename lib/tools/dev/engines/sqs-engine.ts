import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { thisFile } from '../../../this-package.ts';
import { EngineError } from './engine-error.ts';
import { type Gate, refusal, refusalReply } from './gate.ts';

export type SqsEngine = {
  readonly endpoint: string;
  readonly port: number;
  stop(): Promise<void>;
};

export type SqsEngineOptions = {
  readonly port?: number;
  readonly dataDir?: string;
  /** @default - any process or web page can use it */
  readonly gate?: Gate;
};

type BuildAppOptions = NonNullable<Parameters<Awaited<ReturnType<typeof loadFauxqs>>['buildApp']>[0]>;
type Stores = NonNullable<BuildAppOptions['stores']>;
type Persistence = NonNullable<Stores['sqsStore']['persistence']> & {
  loadSqsAndSns(sqsStore: Stores['sqsStore'], snsStore: Stores['snsStore']): void;
  close(): void;
};
type QueueUrls = { readonly QueueUrl?: unknown; readonly QueueUrls?: unknown };

const ADDRESS = '127.0.0.1';

/** Stores that outlive the process. fauxqs's own start function binds all interfaces, so its parts are loaded by path. */
async function persistentStores(dataDir: string): Promise<{ stores: Stores; persistence: Persistence }> {
  const manifest = findPackageJSON('fauxqs', pathToFileURL(thisFile)) ?? '';
  const part = (path: string) => import(pathToFileURL(join(dirname(manifest), 'dist', path)).href);
  const [sqs, sns, s3, persist] = await Promise.all(
    ['sqs/sqsStore.js', 'sns/snsStore.js', 's3/s3Store.js', 'persistence.js'].map(part),
  );
  const persistence: Persistence = new persist.PersistenceManager(dataDir);
  const stores: Stores = {
    sqsStore: new sqs.SqsStore(),
    snsStore: new sns.SnsStore(),
    s3Store: new s3.S3Store(),
  };
  // Load before attaching the persistence: otherwise loading would write and cascade deletes.
  persistence.loadSqsAndSns(stores.sqsStore, stores.snsStore);
  stores.sqsStore.persistence = persistence;
  for (const queue of stores.sqsStore.allQueues()) queue.persistence = persistence;
  return { stores, persistence };
}

const reachedAt = (url: unknown, host: string) =>
  typeof url === 'string' ? `http://${host}${new URL(url).pathname}` : url;

/** Stored queue URLs have an old port and may not resolve, so answer with the host that the client used. */
function withReachableUrls(payload: QueueUrls, host: string): QueueUrls {
  if (payload.QueueUrl !== undefined) return { ...payload, QueueUrl: reachedAt(payload.QueueUrl, host) };
  if (!Array.isArray(payload.QueueUrls)) return payload;
  return { ...payload, QueueUrls: payload.QueueUrls.map((url) => reachedAt(url, host)) };
}

async function loadFauxqs() {
  try {
    return await import('fauxqs');
  } catch (cause) {
    const message =
      "The local SQS engine needs the package fauxqs, which did not load. Run 'npm install --save-dev fauxqs'.";
    throw new EngineError('ENGINE_UNAVAILABLE', message, { cause });
  }
}

export async function startSqs(options: SqsEngineOptions = {}): Promise<SqsEngine> {
  const { buildApp } = await loadFauxqs();
  const kept = options.dataDir === undefined ? undefined : await persistentStores(options.dataDir);
  const app = buildApp({ logger: false, stores: kept?.stores });
  const { gate } = options;
  if (gate !== undefined)
    app.addHook('onRequest', async ({ headers, socket }, reply) => {
      const refused = refusal(headers, socket.localPort ?? 0, gate);
      if (refused === undefined) return;
      const { status, body } = refusalReply(refused);
      return reply.code(status).send(body);
    });
  app.addHook('preSerialization', async (request, _reply, payload) => {
    const host = request.headers.host;
    const isReply = typeof payload === 'object' && payload !== null && host !== undefined;
    return isReply ? withReachableUrls(payload, host) : payload;
  });
  if (kept !== undefined) app.addHook('onClose', async () => kept.persistence.close());
  try {
    const endpoint = await app.listen({ host: ADDRESS, port: options.port ?? 0 });
    return { endpoint, port: Number(new URL(endpoint).port), stop: () => app.close() };
  } catch (cause) {
    await app.close();
    const message = `The local SQS engine could not listen on ${ADDRESS}:${options.port ?? 0}. Free the port, or leave it out.`;
    throw new EngineError('ENGINE_FAILED', message, { cause });
  }
}
