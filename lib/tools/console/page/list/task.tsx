import { useRef, useState } from 'preact/hooks';
import { counted } from '../../../inspect/counted.ts';
import type { JobAction, TaskState } from '../../page-messages.ts';
import type { Filter } from '../address.ts';
import { postAll, postStopAll } from '../api.ts';
import { state, toast, useCanAct, useTopic } from '../state.ts';

export function actionsOnAll({ status }: Filter): readonly JobAction[] {
  if (status === 'failed') return ['revive'];
  return status === 'pending' || status === 'running' ? ['cancel'] : [];
}

function countOf({ status, type, error, since, search }: Filter): string | undefined {
  const { figures } = state;
  if (figures === undefined || error !== undefined || since !== undefined || search.trim() !== '')
    return undefined;
  if (status !== 'failed' && type !== undefined) return undefined;
  const { count, complete } = figures.counts[status as 'failed' | 'pending' | 'running'];
  const own = type === undefined ? count : (figures.failedByType[type] ?? 0);
  return `${own.toLocaleString('en-US')}${complete ? '' : '+'}`;
}

export function AllButton({ filter, action }: { readonly filter: Filter; readonly action: JobAction }) {
  useTopic('figures');
  const canAct = useCanAct();
  const dialog = useRef<HTMLDialogElement>(null);
  const count = countOf(filter);
  const what = count === undefined ? 'all that match' : `all ${count} that match`;
  const isBusy = state.figures?.task?.state === 'running';
  const start = async () => {
    dialog.current?.close();
    const reply = await postAll(filter, action);
    if (!reply.ok) toast(reply);
  };
  return (
    <>
      <button
        type="button"
        class={action === 'cancel' ? 'button small danger' : 'button small'}
        disabled={!canAct || isBusy}
        onClick={() => dialog.current?.showModal()}
      >
        {action} {what}
      </button>
      <dialog ref={dialog} class="ask" aria-labelledby="ask-all-title">
        <h2 id="ask-all-title">
          {action === 'revive' ? 'Revive' : 'Cancel'} {what}?
        </h2>
        <p>{describe(filter)}</p>
        <p>
          One after the other, 25 a second at most, each only if it is still as it was found. You can stop at
          any time; jobs done by then stay as they are.
        </p>
        <p class="ask-buttons">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Back
          </button>
          <button
            type="button"
            class={action === 'cancel' ? 'button strong danger' : 'button strong'}
            disabled={!canAct}
            onClick={start}
          >
            start
          </button>
        </p>
      </dialog>
    </>
  );
}

const describe = ({ status, type, error, since, search }: Filter): string =>
  [
    `Every ${status} job`,
    ...(type === undefined ? [] : [`of type ${type}`]),
    ...(error === undefined ? [] : [`with the error “${error}”`]),
    ...(since === undefined ? [] : [`changed within ${since}`]),
    ...(search.trim() === '' ? [] : [`containing “${search.trim()}”`]),
  ].join(', ');

const doing: Readonly<Record<JobAction, string>> = {
  revive: 'Reviving',
  cancel: 'Cancelling',
  takeBack: 'Taking back',
};
const did: Readonly<Record<JobAction, string>> = {
  revive: 'revived',
  cancel: 'cancelled',
  takeBack: 'taken back',
};

export function TaskBar() {
  useTopic('figures');
  const [dismissed, setDismissed] = useState(0);
  const task = state.figures?.task;
  if (task === undefined || task.startedAt === dismissed) return null;
  const isRunning = task.state === 'running';
  return (
    <div class="task" role="status" data-state={task.state}>
      <span>
        {isRunning && <b>{doing[task.action]}… </b>}
        {outcomeOf(task)}
        {task.reason !== undefined && <span class="muted"> ({task.reason})</span>}
      </span>
      <button
        type="button"
        class="button small"
        onClick={() => (isRunning ? void postStopAll() : setDismissed(task.startedAt))}
      >
        {isRunning ? 'stop' : 'dismiss'}
      </button>
    </div>
  );
}

function outcomeOf({ action, state: how, done, refused, looked }: TaskState): string {
  const parts = [
    `${counted(done, 'job')} ${did[action]}`,
    ...(refused > 0 ? [`${refused.toLocaleString('en-US')} refused`] : []),
    `${looked.toLocaleString('en-US')} checked`,
  ].join(', ');
  return how === 'stopped' ? `Stopped: ${parts}` : how === 'failed' ? `Failed: ${parts}` : parts;
}
