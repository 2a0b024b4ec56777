import { createServer } from 'node:http';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import { createEmbeddedReaper } from '../../reaper/embedded.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import { resolveSettings } from '../../settings/settings.ts';
import { LEADER_KEY } from '../../wire/table.ts';
import { defaultCells } from '../cells/host/memory.ts';
import { type ComposedWorker, composeWorker, type WorkerConnectOptions } from '../compose-worker.ts';
import { startWorkerProcess, type WorkerProcess } from './process-host.ts';

/** Which jobs a worker runs, and how many at once. */
export interface StartWorkerOptions extends Partial<WorkerConnectOptions> {
  /** The module that exports your registry: its path, or a URL such as `new URL('./jobs.ts', import.meta.url)`. */
  readonly jobs: string | URL;
  /** Processes that share the work. @default - the setting `cells`, else one for each processor */
  readonly cells?: number;
  /** Jobs at the same time, over all cells. @default - the setting `processConcurrency` */
  readonly concurrency?: number;
  /** Whether this process also looks after lapsed leases; any number of them may. @default false */
  readonly reaper?: boolean;
  /** Where an orchestrator asks whether the worker works. @default - nowhere */
  readonly healthPort?: number;
  /** Whether SIGTERM and SIGINT drain the worker; a second one releases running jobs at once. @default true */
  readonly signals?: boolean;
}

/** The store counts as answering for this long after it did. */
const ANSWERED_MS = 5000;
const ANSWER_WITHIN_MS = 2000;

/** Runs the jobs of a jobs module in this process and its cells until it is stopped. */
export function startWorker(options: StartWorkerOptions): WorkerProcess {
  const given = options.configuration ?? configurationFromEnvironment(process.env);
  const concurrency = options.concurrency ?? given.settings.processConcurrency;
  const settings = resolveSettings({ ...given.settings, processConcurrency: concurrency });
  const cells = options.cells ?? (settings.cells > 0 ? settings.cells : defaultCells(concurrency));
  const worker = composeWorker({
    ...{ ...options, concurrency, cells, spare: true },
    configuration: { ...given, settings },
    handlers: { jobs: options.jobs },
  });
  const flush = () => worker.telemetry.flush();
  // Said because each of them has connections of its own.
  worker.telemetry.info('worker starts', { worker: worker.worker, cells, spare: 1, concurrency });
  const host = startWorkerProcess({
    ...{ parts: worker, flush, signals: options.signals },
    reaper: options.reaper
      ? createEmbeddedReaper({ ...worker, name: `reaper/${worker.worker}`, flush })
      : undefined,
  });
  const health = options.healthPort === undefined ? undefined : serveHealth(options.healthPort, host, worker);
  const stopped = host.stopped.finally(async () => {
    health?.close();
    await worker.close();
  });
  return {
    stop: (stopping) => host.stop(stopping).then(() => stopped),
    stopped,
    isHealthy: host.isHealthy,
    // A spread would keep the number of this moment.
    get running() {
      return host.running;
    },
  };
}

/** Answers 200 only while the worker polls, a cell is ready and the store answers. */
function serveHealth(port: number, host: WorkerProcess, { table, clock, telemetry }: ComposedWorker) {
  let answeredAt = Number.NEGATIVE_INFINITY;
  const storeAnswers = async (): Promise<boolean> => {
    if (clock.monotonic() - answeredAt < ANSWERED_MS) return true;
    const asked = table.read(LEADER_KEY).then(
      () => true,
      () => false,
    );
    const answered = (await waitAtMost(ANSWER_WITHIN_MS, asked, clock)) === true;
    if (answered) answeredAt = clock.monotonic();
    return answered;
  };
  const server = createServer(async (_request, response) => {
    const isHealthy = host.isHealthy() && (await storeAnswers());
    response.writeHead(isHealthy ? 200 : 503, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ healthy: isHealthy, running: host.running }));
  });
  server.on('error', (error) => telemetry.error(`no answer can be given on port ${port}`, error));
  server.listen(port);
  server.unref();
  return server;
}
