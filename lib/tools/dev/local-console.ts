import type { connect } from '../../aws/connect.ts';
import { createTableInspection } from '../../aws/dynamodb/table-inspection.ts';
import { describeQueue } from '../../aws/sqs/queue-inspection.ts';
import { unknownJob } from '../../client/look-up.ts';
import { readPools } from '../../client/pool-states.ts';
import { readJobsModule } from '../bundle/read-jobs-module.ts';
import type { WorkerSummary } from '../console/page-messages.ts';
import type { ConsoleOptions, LocalWorkers } from '../console/start-console.ts';
import type { Watcher } from '../console/watch/watcher.ts';
import type { SandboxView } from './lambda-host/lambda-function.ts';
import { jobIdsOf } from './message-jobs.ts';
import { childrenOf } from './process-children.ts';
import type { LocalStack, StackEvent } from './stack.ts';

/** How long, and how many, ended processes stay visible. */
const GONE_SHOWN_MS = 30_000;
const GONE_SHOWN = 8;
/** Polling interval for a worker's cells. */
const CELLS_EVERY_MS = process.platform === 'linux' ? 500 : 3_000;
/** Workers claim shortly after their invocation starts. */
const CLAIM_MS = [40, 200];

/** Local engines do not report the age of messages. */
const queueAge = async () => undefined;

/** What a console of the local stack reads and acts on. */
export function localConsole(
  stack: LocalStack,
  { table, clock, dynamoDb, sqs, queueAt }: ReturnType<typeof connect>,
) {
  const { tableName, queueUrl, routing, settings } = stack;
  const asked = { found: { tableName, queueUrl }, sqs, routing, queueAge };
  return {
    tableName,
    queueUrl,
    routing,
    settings,
    table,
    clock,
    queue: queueAt(queueUrl, routing),
    scan: createTableInspection({ client: dynamoDb, tableName }).scan,
    queueDepth: () => describeQueue(sqs, queueUrl),
    poolsOf: (running) => readPools(asked, running),
    tellUnknown: async (jobId) => (await unknownJob(asked, jobId)).message,
    local: consoleWorkers(stack),
  } satisfies Partial<ConsoleOptions>;
}

/** Shows the local stack's processes in the console and lets it signal them. */
function consoleWorkers(stack: LocalStack): LocalWorkers {
  const { jobsBundle } = stack;
  const gone = new Map<number, { readonly sandbox: SandboxView; readonly at: number }>();
  let cells: ReadonlyMap<number, readonly number[]> = new Map();
  const livePids = () => stack.workers().map(({ pid }) => pid);

  return {
    workers() {
      const recent = [...gone.values()]
        .filter(({ at }) => Date.now() - at < GONE_SHOWN_MS)
        .slice(-GONE_SHOWN)
        .map(({ sandbox, at }) => ({ ...summaryOf(sandbox, []), since: at, jobs: [] }));
      const live = stack.workers().map((sandbox) => summaryOf(sandbox, cells.get(sandbox.pid) ?? []));
      const all = [...[...gone.values()].map(({ sandbox }) => sandbox), ...stack.workers()];
      return inOrderOfStart([...live, ...recent], all);
    },
    signal: stack.signal,
    async killCell(pid) {
      // Checked again, because the process id may have been reused.
      const children = await childrenOf(livePids());
      if (![...children.values()].some((pids) => pids.includes(pid))) return false;
      return process.kill(pid, 'SIGKILL');
    },
    check:
      jobsBundle &&
      (async (jobs) => (await readJobsModule(jobsBundle, stack.workerEnvironment, jobs)).refusals),
    connect(watcher, workersChanged) {
      const unlisten = stack.listen((event) => {
        if (event.kind === 'sandbox' && isWorker(event.sandbox)) {
          if (event.sandbox.state === 'gone') {
            gone.set(event.sandbox.pid, { sandbox: event.sandbox, at: Date.now() });
            setTimeout(workersChanged, GONE_SHOWN_MS + 100).unref();
          }
          workersChanged();
        }
        tell(event, watcher);
      });
      const look = setInterval(async () => {
        const before = JSON.stringify([...cells]);
        cells = await childrenOf(livePids());
        if (JSON.stringify([...cells]) !== before) workersChanged();
      }, CELLS_EVERY_MS).unref();
      return () => {
        clearInterval(look);
        unlisten();
      };
    },
  };
}

/** Includes dead ones, so that no worker moves into the place of one just killed. */
function inOrderOfStart(workers: WorkerSummary[], sandboxes: readonly SandboxView[]): WorkerSummary[] {
  const starts = new Map(sandboxes.map(({ pid, startedAt }) => [pid, startedAt]));
  const startOf = ({ pid = 0 }: WorkerSummary) => starts.get(pid) ?? 0;
  return workers.sort((a, b) => startOf(a) - startOf(b));
}

const isWorker = ({ functionName }: { readonly functionName: string }) => functionName.endsWith('-worker');
const processName = (pid: number) => `process ${pid}`;

const summaryOf = (sandbox: SandboxView, cells: readonly number[]): WorkerSummary => ({
  name: processName(sandbox.pid),
  pid: sandbox.pid,
  pool: sandbox.pool,
  state: sandbox.state !== 'gone' && sandbox.isPaused ? 'paused' : sandbox.state,
  since: sandbox.busySince ?? sandbox.idleSince ?? sandbox.startedAt,
  jobs: jobIdsOf(sandbox.event),
  cells: cells.map((pid) => ({ pid })),
  invocations: sandbox.invocations,
  ending: sandbox.ending,
});

/** Reads a job's row as soon as something happens to it. */
function tell(event: StackEvent, watcher: Watcher): void {
  if (event.kind === 'started')
    for (const jobId of jobIdsOf(event.event))
      for (const ms of CLAIM_MS) setTimeout(() => watcher.note(jobId), ms).unref();
  else if (event.kind === 'ended') for (const jobId of jobIdsOf(event.event)) watcher.note(jobId);
  else if (event.kind === 'output' && event.line.kind === 'log') {
    const { jobId } = event.line.fields;
    if (typeof jobId === 'string') watcher.note(jobId);
  } else if (event.kind === 'bus' && event.event.name !== 'ReaperLeadershipChanged') {
    const { name, detail } = event.event;
    if (name === 'JobReclaimed') watcher.trend.measure('delayMs', detail.at, detail.reclaimDelayMs);
    watcher.note(detail.jobId);
  }
}
