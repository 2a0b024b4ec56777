import { counted } from '../../inspect/counted.ts';
import type { WorkerAction, WorkerSummary } from '../page-messages.ts';
import { postWorkerAction } from './api.ts';
import { age } from './format.ts';
import { state, toast, useNow, useTopic } from './state.ts';

/** The workers, and what can be done to them. */
export function Workers({ isChosen }: { readonly isChosen: boolean }) {
  useTopic('workers');
  const now = useNow();
  const { workers } = state;
  return (
    <section class="panel workers" data-chosen={isChosen} aria-labelledby="workers-title">
      <h2 id="workers-title">
        Workers <small>{workers.filter(({ state }) => state !== 'gone').length}</small>
      </h2>
      {workers.length === 0 && <p class="empty">{nobody()}</p>}
      <ul>
        {workers.map((worker) => (
          <Worker key={worker.pid ?? worker.name} worker={worker} now={now} />
        ))}
      </ul>
    </section>
  );
}

const nobody = () =>
  state.hello?.mode === 'account'
    ? 'No worker holds a lease. Idle workers cannot be seen from here.'
    : 'No worker has started yet. The first job starts one.';

function Worker({ worker, now }: { readonly worker: WorkerSummary; readonly now: number }) {
  const { pid } = worker;
  return (
    <li class="worker" data-state={worker.state}>
      <span class="worker-name">
        <i class="dot" data-worker={worker.state} />
        {worker.name}
      </span>
      <span class="worker-state" data-state={worker.state}>
        {worker.state === 'gone' ? (worker.ending ?? 'gone') : worker.state}
        <span class="muted"> · {age(worker.since, now)}</span>
      </span>
      <span class="worker-jobs" data-state={worker.state}>
        {worker.jobs.length === 0 ? (
          <span class="muted">{idleText(worker)}</span>
        ) : (
          worker.jobs.slice(0, 3).map((jobId) => (
            <a key={jobId} href={`#/jobs/${encodeURIComponent(jobId)}`}>
              {jobId}
            </a>
          ))
        )}
        {worker.jobs.length > 3 && <span class="muted">and {worker.jobs.length - 3} more</span>}
      </span>
      {pid !== undefined && worker.state !== 'gone' && (
        <span class="worker-actions">
          {worker.state === 'paused' ? (
            <Signal pid={pid} action="resume" says="Resume it (SIGCONT)" />
          ) : (
            <Signal pid={pid} action="pause" says="Pause it (SIGSTOP)" />
          )}
          <Signal pid={pid} action="kill" says="Kill it (SIGKILL)" />
        </span>
      )}
    </li>
  );
}

const idleText = (worker: WorkerSummary): string =>
  worker.state === 'gone' ? '' : counted(worker.invocations ?? 0, 'invocation');

function Signal(props: { readonly pid: number; readonly action: WorkerAction; readonly says: string }) {
  const { pid, action, says } = props;
  return (
    <button
      type="button"
      class={action === 'kill' ? 'button small danger' : 'button small'}
      title={says}
      aria-label={`${action} worker ${pid}`}
      onClick={async () => toast(await postWorkerAction(pid, action))}
    >
      {action}
    </button>
  );
}
