import { useRef, useState } from 'preact/hooks';
import { BAD_MESSAGE_PREFIX } from '../../../../wire/table.ts';
import { counted } from '../../../inspect/counted.ts';
import type { ActionReply, JobSummary } from '../../page-messages.ts';
import { postJobAction } from '../api.ts';
import { toast, useCanAct } from '../state.ts';

type BulkAction = 'revive' | 'cancel';

const canHave: Readonly<Record<BulkAction, (job: JobSummary) => boolean>> = {
  revive: ({ status, jobId }) =>
    (status === 'failed' || status === 'cancelled') && !jobId.startsWith(BAD_MESSAGE_PREFIX),
  cancel: ({ status, cancelRequested }) =>
    (status === 'pending' || status === 'running') && cancelRequested !== true,
};
const explains: Readonly<Record<BulkAction, string>> = {
  revive: 'They run again, with new budgets, and may fail again for the same reason.',
  cancel: 'Pending jobs end at once. Workers of running jobs are asked to stop at their next heartbeat.',
};
const NAMED = 6;
/** Browsers open six connections to a host, and the stream holds one. */
const AT_ONCE = 5;

export function BulkBar(props: { readonly selected: readonly JobSummary[]; readonly onDone: () => void }) {
  const canAct = useCanAct();
  const dialog = useRef<HTMLDialogElement>(null);
  const [asked, setAsked] = useState<{ readonly action: BulkAction; readonly jobs: readonly JobSummary[] }>();
  const ask = (action: BulkAction) => {
    // Fixes the confirmed jobs, however the list changes.
    setAsked({ action, jobs: props.selected.filter(canHave[action]) });
    dialog.current?.showModal();
  };
  return (
    <footer class="list-foot bulk">
      <b>{props.selected.length} selected</b>
      {(['revive', 'cancel'] as const).map((action) => {
        const count = props.selected.filter(canHave[action]).length;
        return (
          <button
            key={action}
            type="button"
            class={action === 'cancel' ? 'button small danger' : 'button small'}
            disabled={!canAct || count === 0}
            onClick={() => ask(action)}
          >
            {action} {count}
          </button>
        );
      })}
      <button type="button" class="button small" onClick={props.onDone}>
        clear
      </button>
      <dialog ref={dialog} class="ask" aria-labelledby="ask-title">
        {asked !== undefined && (
          <Question {...asked} onClose={() => dialog.current?.close()} onDone={props.onDone} />
        )}
      </dialog>
    </footer>
  );
}

function Question(props: {
  readonly action: BulkAction;
  readonly jobs: readonly JobSummary[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const { action, jobs, onClose } = props;
  const canAct = useCanAct();
  const [done, setDone] = useState<number>();
  const stopping = useRef(new AbortController());
  const what = counted(jobs.length, 'job');
  const run = async () => {
    stopping.current = new AbortController();
    setDone(0);
    toast(await actOn(jobs, action, setDone, stopping.current.signal));
    setDone(undefined);
    onClose();
    props.onDone();
  };
  const stop = () => stopping.current.abort();
  return (
    <>
      <h2 id="ask-title">
        {action === 'revive' ? 'Revive' : 'Cancel'} {what}?
      </h2>
      <p>{explains[action]}</p>
      <ul>
        {jobs.slice(0, NAMED).map(({ jobId, type }) => (
          <li key={jobId}>
            <span class="id">{jobId}</span> <span class="muted">{type}</span>
          </li>
        ))}
        {jobs.length > NAMED && <li class="muted">and {jobs.length - NAMED} more</li>}
      </ul>
      <p class="ask-buttons">
        <button type="button" class="button" onClick={done === undefined ? onClose : stop}>
          {done === undefined ? 'Back' : 'Stop'}
        </button>
        <button
          type="button"
          class={action === 'cancel' ? 'button strong danger' : 'button strong'}
          disabled={!canAct || done !== undefined}
          onClick={run}
        >
          {done === undefined ? `${action} ${what}` : `${done} of ${jobs.length}…`}
        </button>
      </p>
    </>
  );
}

async function actOn(
  jobs: readonly JobSummary[],
  action: BulkAction,
  onProgress: (looked: number) => void,
  stopping: AbortSignal,
): Promise<ActionReply> {
  const refused: string[] = [];
  let looked = 0;
  const rest = jobs.values();
  const actInTurn = async () => {
    for (const { jobId } of rest) {
      if (stopping.aborted) return;
      const { ok, message } = await postJobAction(jobId, action);
      if (!ok) refused.push(message);
      onProgress(++looked);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, actInTurn));
  const message = `${counted(looked - refused.length, 'job')} ${action === 'revive' ? 'revived' : 'cancelled'}`;
  return refused.length === 0
    ? { ok: true, message }
    : { ok: false, message: `${message}, ${refused.length} refused: ${refused[0]}` };
}
