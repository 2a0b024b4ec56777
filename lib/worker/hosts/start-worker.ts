import { createServer, type RequestListener, type Server } from 'node:http';
import { createWakeQueue } from '../../aws/sqs/wake-queue.ts';
import { createPowertoolsTelemetry } from '../../aws/telemetry.ts';
import { isMisconfigured } from '../../protocol/errors.ts';
import type { WakeQueue } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';
import { createEmbeddedReaper } from '../../reaper/embedded.ts';
import { configurationFromEnvironment, processOptionsFromEnvironment } from '../../settings/environment.ts';
import { resolveSettings } from '../../settings/settings.ts';
import { defined } from '../../wire/defined.ts';
import { reaperVariables } from '../../wire/environment.ts';
import { LEADER_KEY } from '../../wire/table.ts';
import { defaultCells } from '../cells/host/memory.ts';
import { type ComposedWorker, composeWorker, type WorkerConnectOptions } from '../compose-worker.ts';
import { createMetricsPage } from './metrics-port.ts';
import { startWorkerProcess, type WorkerProcess } from './process-host.ts';
import { protectTask } from './task-protection.ts';

/** Which jobs a worker runs, and how many at once. */
export interface StartWorkerOptions extends Partial<WorkerConnectOptions> {
  /** Path or URL of the module that exports your registry, such as `new URL('./jobs.ts', import.meta.url)`. */
  readonly jobs: string | URL;
  /** Processes that run handlers. @default - the setting `cells`, else one per processor */
  readonly cells?: number;
  /** Jobs at once over all cells. @default - the setting `processConcurrency` */
  readonly concurrency?: number;
  /** Also run a reaper; any number of processes may. @default false */
  readonly reaper?: boolean;
  /** Port of an HTTP health check. @default - `LEASEHOLD_HEALTH_PORT`, or none */
  readonly healthPort?: number;
  /** Port on which the worker's counts are served in the format of Prometheus. @default - none */
  readonly metricsPort?: number;
  /** Drain on SIGTERM and SIGINT; a second signal releases running jobs at once. @default true */
  readonly signals?: boolean;
}

/** How long one reply proves that the store answers. */
const ANSWERED_MS = 5000;
const ANSWER_WITHIN_MS = 2000;

/** Runs the jobs of a jobs module in this process and its cells until stopped. */
export function startWorker(options: StartWorkerOptions): WorkerProcess {
  const given = options.configuration ?? configurationFromEnvironment(process.env);
  const concurrency = options.concurrency ?? given.settings.processConcurrency;
  resolveSettings({ processConcurrency: concurrency });
  const settings = { ...given.settings, processConcurrency: concurrency };
  const cells = options.cells ?? (settings.cells > 0 ? settings.cells : defaultCells(concurrency));
  const { serviceName } = given.resources;
  const page = createMetricsPage(serviceName);
  const reporting = options.telemetry ?? createPowertoolsTelemetry({ serviceName, ...settings });
  const telemetry = options.metricsPort === undefined ? reporting : page.counting(reporting);
  const worker = composeWorker({
    ...options,
    concurrency,
    cells,
    spare: true,
    telemetry,
    configuration: { ...given, settings },
    handlers: { jobs: options.jobs },
  });
  const { healthPort, protectMinutes = 0 } = {
    ...processOptionsFromEnvironment(process.env),
    ...defined({ healthPort: options.healthPort }),
  };
  const agentUri = process.env.ECS_AGENT_URI;
  // Operators need the cell count because each cell opens connections.
  worker.telemetry.info('worker starts', { worker: worker.worker, cells, spare: 1, concurrency });
  const host = startWorkerProcess({
    parts: worker,
    flush: () => worker.telemetry.flush(),
    signals: options.signals,
    protect:
      protectMinutes > 0 && agentUri
        ? (longestRunMs) => protectTask({ ...worker, agentUri, minutes: protectMinutes, longestRunMs })
        : undefined,
    // Outages pass; a wrong configuration does not.
    reachable: worker.table.read(LEADER_KEY).catch((error: unknown) => {
      if (isMisconfigured(error)) throw error;
    }),
    reaper: options.reaper
      ? createEmbeddedReaper({ ...worker, name: `reaper/${worker.worker}`, wakeQueue: wakeQueueOf(worker) })
      : undefined,
  });
  const metrics: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(page.text(host.running));
  };
  const servers = [
    serve(healthPort, healthOf(host, worker), worker),
    serve(options.metricsPort, metrics, worker),
  ];
  const stopped = host.stopped.finally(async () => {
    for (const server of servers) server?.close();
    await worker.close();
  });
  return {
    stop: (stopping) => host.stop(stopping).then(() => stopped),
    stopped,
    isHealthy: host.isHealthy,
    // A spread would copy the current value.
    get running() {
      return host.running;
    },
  };
}

/** Wakes a stack's reaper function, which takes over from this process. */
function wakeQueueOf({ sqs }: ComposedWorker): WakeQueue | undefined {
  const url = process.env[reaperVariables.wakeQueueUrl];
  return url ? createWakeQueue(sqs, url) : undefined;
}

function healthOf(host: WorkerProcess, { table, clock }: ComposedWorker): RequestListener {
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
  return async (_request, response) => {
    const isHealthy = host.isHealthy() && (await storeAnswers());
    response.writeHead(isHealthy ? 200 : 503, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ healthy: isHealthy, running: host.running }));
  };
}

function serve(
  port: number | undefined,
  respond: RequestListener,
  { telemetry }: ComposedWorker,
): Server | undefined {
  if (port === undefined) return undefined;
  const server = createServer(respond);
  server.on('error', (error) => telemetry.error(`cannot listen on port ${port}`, error));
  server.listen(port);
  server.unref();
  return server;
}
