import type { WorkerAction, WorkerSummary } from '../console/page-messages.ts';
import type { LocalWorkers } from '../console/start-console.ts';
import type { Watcher } from '../console/watcher.ts';
import type { Moment } from '../inspect/moment.ts';
import type { BusEvent } from './event-bus.ts';
import type { SandboxView } from './lambda-host/lambda-function.ts';
import type { OutputLine } from './lambda-host/output-line.ts';
import { jobIdsOf } from './message-jobs.ts';
import type { LocalStack, StackEvent } from './stack.ts';

/** How long, and how many, processes that are gone stay in sight. */
const GONE_SHOWN_MS = 30_000;
const GONE_SHOWN = 3;
/** A worker claims a moment after its invocation starts. */
const CLAIM_MS = [40, 200];

/** Shows the console what the local stack's processes do, and lets it signal them. */
export function consoleWorkers(stack: LocalStack): LocalWorkers {
  const gone = new Map<number, { readonly sandbox: SandboxView; readonly at: number }>();
  let watching: Watcher | undefined;
  const attemptOf = (jobId: string) => watching?.jobs.get(jobId)?.attempt;
  const add = (jobId: string, moment: Omit<Moment, 'at'>, at = Date.now()) => {
    watching?.history.add(jobId, { ...moment, at, attempt: moment.attempt ?? attemptOf(jobId) });
  };

  return {
    workers() {
      const recent = [...gone.values()]
        .filter(({ at }) => Date.now() - at < GONE_SHOWN_MS)
        .slice(-GONE_SHOWN);
      return [
        ...stack.workers().map((sandbox) => summaryOf(sandbox)),
        ...recent.reverse().map(({ sandbox, at }) => ({ ...summaryOf(sandbox), since: at, jobs: [] })),
      ];
    },
    signal(pid, action) {
      const worker = stack.workers().find((each) => each.pid === pid);
      const kind = signalKinds[action];
      if (kind !== undefined)
        for (const jobId of jobIdsOf(worker?.event)) add(jobId, { kind, by: processName(pid) });
      return stack.signal(pid, action);
    },
    connect(watcher, workersChanged) {
      watching = watcher;
      const unlisten = stack.listen((event) => {
        if (event.kind === 'sandbox' && isWorker(event.sandbox)) {
          if (event.sandbox.state === 'gone') {
            gone.set(event.sandbox.pid, { sandbox: event.sandbox, at: Date.now() });
            setTimeout(workersChanged, GONE_SHOWN_MS + 100).unref();
          }
          workersChanged();
        }
        tell(event, watcher, add);
      });
      return () => {
        watching = undefined;
        unlisten();
      };
    },
  };
}

const signalKinds: Partial<Record<WorkerAction, 'paused' | 'resumed'>> = {
  pause: 'paused',
  resume: 'resumed',
};

const isWorker = ({ functionName }: { readonly functionName: string }) => functionName.endsWith('-worker');
const processName = (pid: number) => `process ${pid}`;

const summaryOf = (sandbox: SandboxView): WorkerSummary => ({
  name: processName(sandbox.pid),
  pid: sandbox.pid,
  state: sandbox.state !== 'gone' && sandbox.isPaused ? 'paused' : sandbox.state,
  since: sandbox.busySince ?? sandbox.idleSince ?? sandbox.startedAt,
  jobs: jobIdsOf(sandbox.event),
  invocations: sandbox.invocations,
  ending: sandbox.ending,
});

type Add = (jobId: string, moment: Omit<Moment, 'at'>, at?: number) => void;

/** Turns what happens in the stack into news of jobs. */
function tell(event: StackEvent, watcher: Watcher, add: Add): void {
  if (event.kind === 'started') {
    for (const jobId of jobIdsOf(event.event))
      for (const ms of CLAIM_MS) setTimeout(() => watcher.note(jobId), ms).unref();
  } else if (event.kind === 'ended') {
    for (const jobId of jobIdsOf(event.event)) {
      if (event.outcome.outcome === 'functionError' && isDeath(event.outcome.failure.errorType))
        add(jobId, { kind: 'killed', by: processName(event.pid), text: reasonOf(event.outcome.failure) });
      watcher.note(jobId);
    }
  } else if (event.kind === 'output') tellLine(event.line, watcher, add);
  else if (event.kind === 'bus') tellBusEvent(event.event, watcher, add);
}

/** Lambda's words without the request's id, which says nothing here. */
const reasonOf = ({ errorMessage }: { readonly errorMessage: string }) =>
  errorMessage.replace(/^RequestId: \S* Error: /, '');

const isDeath = (errorType: string) => errorType === 'Runtime.ExitError' || errorType === 'Sandbox.Timedout';

/** Log lines that name a job: what a worker says of a claim that it lost, and what handlers say themselves. */
function tellLine(line: OutputLine, watcher: Watcher, add: Add): void {
  if (line.kind !== 'log') return;
  const { jobId, attempt, outcome } = line.fields;
  if (typeof jobId !== 'string') return;
  watcher.note(jobId);
  const of = typeof attempt === 'number' ? attempt : undefined;
  if (line.message !== 'run ended') add(jobId, { kind: 'log', text: line.message, attempt: of }, line.at);
  else if (outcome === 'lost') add(jobId, { kind: 'refused', attempt: of }, line.at);
}

function tellBusEvent({ name, detail }: BusEvent, watcher: Watcher, add: Add): void {
  switch (name) {
    case 'JobReclaimed':
      watcher.series.reclaimed({ at: detail.at, delayMs: detail.reclaimDelayMs, jobId: detail.jobId });
      add(
        detail.jobId,
        {
          kind: 'reclaimed',
          attempt: detail.attempt,
          text: `${Math.round(detail.reclaimDelayMs)} ms after the end of its lease`,
        },
        detail.at,
      );
      break;
    case 'JobRetried':
      add(detail.jobId, { kind: 'retried', attempt: detail.attempt, text: detail.lastError }, detail.at);
      break;
    case 'JobFailed':
      add(detail.jobId, { kind: 'failed', attempt: detail.attempt, text: detail.lastError }, detail.at);
      break;
    case 'JobQuarantined':
      add(detail.jobId, { kind: 'quarantined', attempt: detail.attempt }, detail.at);
      break;
    case 'ReaperLeadershipChanged':
    case 'ReaperBreakerOpened':
      return;
  }
  watcher.note(detail.jobId);
}
