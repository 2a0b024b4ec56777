import { useRef } from 'preact/hooks';
import { counted } from '../../../inspect/counted.ts';
import type { ActionReply, WorkerSummary } from '../../page-messages.ts';
import { jobLink } from '../address.ts';
import { postKillCell, postWorkerAction } from '../api.ts';
import { age } from '../format.ts';
import { isCutOff, state, toast, useNow, useTopic } from '../state.ts';

/** A second click this soon at the same spot is part of a double click. */
const SAME_CLICK_MS = 1_500;
const SAME_SPOT_PX = 24;
const JOBS_SHOWN = 3;

export function Workers({ isChosen }: { readonly isChosen: boolean }) {
  useTopic('workers');
  useTopic('connection');
  const now = useNow();
  const { workers } = state;
  const guard = useClickGuard();
  return (
    <section class="panel workers" data-chosen={isChosen} aria-labelledby="workers-title">
      <h2 id="workers-title">
        Workers <small>{workers.filter(({ state }) => state !== 'gone').length}</small>
      </h2>
      {workers.length === 0 && <p class="empty">{emptyText()}</p>}
      <ul>
        {workers.map((worker) => (
          <Worker key={worker.pid ?? worker.name} worker={worker} now={now} guard={guard} />
        ))}
      </ul>
    </section>
  );
}

function emptyText(): string {
  const { hello } = state;
  if (hello?.mode === 'account') return 'No worker holds a lease. Idle workers cannot be seen from here.';
  return hello?.work === undefined
    ? 'No worker has started yet. The first job starts one.'
    : `None of your workers holds a lease. To start one: ${hello.work}`;
}

/** Drops the second click of two, which could hit another worker. */
type Guard = (event: MouseEvent, act: () => Promise<ActionReply>) => Promise<void>;

function useClickGuard(): Guard {
  const last = useRef({ x: 0, y: 0, at: Number.NEGATIVE_INFINITY });
  return async ({ clientX: x, clientY: y, detail }, act) => {
    const at = performance.now();
    const before = last.current;
    const isSameSpot = Math.hypot(x - before.x, y - before.y) < SAME_SPOT_PX;
    // Keyboard clicks have no position and go to the focused button.
    if (detail > 0 && isSameSpot && at - before.at < SAME_CLICK_MS) return;
    if (detail > 0) last.current = { x, y, at };
    toast(await act());
  };
}

function Worker(props: { readonly worker: WorkerSummary; readonly now: number; readonly guard: Guard }) {
  const { worker, now, guard } = props;
  const isGone = worker.state === 'gone';
  return (
    <li class="worker" data-state={worker.state}>
      <span class="worker-name">
        <i class="dot" data-worker={worker.state} />
        {worker.name}
        {worker.pool !== undefined && <span class="muted"> · pool {worker.pool}</span>}
      </span>
      <span class="worker-state" data-state={worker.state}>
        {isGone ? (worker.ending ?? 'gone') : worker.state}
        <span class="muted"> · {age(worker.since, now)}</span>
      </span>
      <span class="worker-jobs">
        {worker.jobs.length === 0 ? (
          <span class="muted">{idleText(worker)}</span>
        ) : (
          worker.jobs.slice(0, JOBS_SHOWN).map((jobId) => (
            <a key={jobId} href={jobLink(jobId)}>
              {jobId}
            </a>
          ))
        )}
        {worker.jobs.length > JOBS_SHOWN && (
          <span class="muted">and {worker.jobs.length - JOBS_SHOWN} more</span>
        )}
      </span>
      {isGone ? (
        <span class="cells muted">its cells ended with it</span>
      ) : (
        <>
          <Actions worker={worker} guard={guard} />
          <Cells worker={worker} guard={guard} />
        </>
      )}
    </li>
  );
}

interface LiveProps {
  readonly worker: WorkerSummary;
  readonly guard: Guard;
}

function Actions({ worker: { pid, state }, guard }: LiveProps) {
  if (pid === undefined) return null;
  return (
    <span class="worker-actions">
      {state === 'paused' ? (
        <Signal label="resume" name={`worker ${pid}`} title="Resume it (SIGCONT)" guard={guard}>
          {() => postWorkerAction(pid, 'resume')}
        </Signal>
      ) : (
        <Signal label="pause" name={`worker ${pid}`} title="Pause it (SIGSTOP)" guard={guard}>
          {() => postWorkerAction(pid, 'pause')}
        </Signal>
      )}
      <Signal label="kill" name={`worker ${pid}`} title="Kill it and its cells (SIGKILL)" guard={guard}>
        {() => postWorkerAction(pid, 'kill')}
      </Signal>
    </span>
  );
}

function Cells({ worker: { name, cells = [] }, guard }: LiveProps) {
  if (cells.length === 0) return null;
  return (
    <details class="cells">
      <summary>{counted(cells.length, 'cell')}</summary>
      <ul aria-label={`Cells of ${name}`}>
        {cells.map(({ pid }) => (
          <li key={pid}>
            cell {pid}
            <Signal
              label="kill"
              name={`cell ${pid}`}
              title="Kill this cell; its host runs its jobs again"
              guard={guard}
            >
              {() => postKillCell(pid)}
            </Signal>
          </li>
        ))}
      </ul>
    </details>
  );
}

const idleText = (worker: WorkerSummary): string =>
  worker.state === 'gone'
    ? 'its jobs go to other workers'
    : worker.invocations === undefined
      ? 'idle since its last job'
      : counted(worker.invocations, 'invocation');

function Signal(props: {
  readonly label: 'kill' | 'pause' | 'resume';
  readonly name: string;
  readonly title: string;
  readonly guard: Guard;
  readonly children: () => Promise<ActionReply>;
}) {
  const { label, name, title, guard, children: act } = props;
  return (
    <button
      type="button"
      class={label === 'kill' ? 'button small danger' : 'button small'}
      title={title}
      aria-label={`${label} ${name}`}
      disabled={isCutOff()}
      onClick={(event) => void guard(event, act)}
    >
      {label}
    </button>
  );
}
