import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { thisFile } from '../../../this-package.ts';
import { EngineError } from './engine-error.ts';

/** A running stand-in for SQS, bound to loopback; `stop` resolves when its port is free. */
export type SqsEngine = {
  readonly endpoint: string;
  readonly port: number;
  stop(): Promise<void>;
};

/** Where the engine listens and keeps its queues; without `dataDir` everything stays in memory. */
export type SqsEngineOptions = {
  readonly port?: number;
  readonly dataDir?: string;
};

type BuildAppOptions = NonNullable<Parameters<Awaited<ReturnType<typeof loadFauxqs>>['buildApp']>[0]>;
type Stores = NonNullable<BuildAppOptions['stores']>;
type Persistence = NonNullable<Stores['sqsStore']['persistence']> & {
  loadSqsAndSns(sqsStore: Stores['sqsStore'], snsStore: Stores['snsStore']): void;
  close(): void;
};
type QueueUrls = { readonly QueueUrl?: unknown; readonly QueueUrls?: unknown };

const ADDRESS = '127.0.0.1';

/**
 * Stores that outlive the process, as fauxqs's own start function makes them. That function binds all interfaces
 * and the package exports none of the parts, so they are loaded by path.
 */
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
  // Loaded before the stores know of the persistence: otherwise loading would write, and cascade deletes.
  persistence.loadSqsAndSns(stores.sqsStore, stores.snsStore);
  stores.sqsStore.persistence = persistence;
  for (const queue of stores.sqsStore.allQueues()) queue.persistence = persistence;
  return { stores, persistence };
}

const reachedAt = (url: unknown, host: string) =>
  typeof url === 'string' ? `http://${host}${new URL(url).pathname}` : url;

/**
 * Queue URLs name a host that may not resolve and the port of the run that created the queue. They are answered
 * with the host that the request was sent to, so that clients who use the URL as the endpoint come back the same
 * way, also through a proxy.
 */
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

/** Starts a stand-in for SQS in this process and resolves once it listens. */
export async function startSqs(options: SqsEngineOptions = {}): Promise<SqsEngine> {
  const { buildApp } = await loadFauxqs();
  const kept = options.dataDir === undefined ? undefined : await persistentStores(options.dataDir);
  const app = buildApp({ logger: false, stores: kept?.stores });
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
