import { useRef, useState } from 'preact/hooks';
import { BAD_MESSAGE_PREFIX } from '../../../../wire/table.ts';
import { counted } from '../../../inspect/counted.ts';
import { type JobSummary, MANY_AT_ONCE, type ManyReply } from '../../page-messages.ts';
import type { Filter } from '../address.ts';
import { postMany } from '../api.ts';
import { toast, useCanAct } from '../state.ts';
import { AllButton, actionsOnAll } from './task.tsx';

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

export function BulkBar(props: {
  readonly selected: readonly JobSummary[];
  readonly filter: Filter;
  readonly isAll: boolean;
  readonly onDone: () => void;
}) {
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
      {props.isAll &&
        actionsOnAll(props.filter).map((action) => (
          <AllButton key={action} filter={props.filter} action={action} />
        ))}
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
  const what = counted(jobs.length, 'job');
  const run = async () => {
    const reply = await actOn(jobs, action, setDone);
    setDone(undefined);
    toast(reply);
    onClose();
    props.onDone();
  };
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
        <button type="button" class="button" disabled={done !== undefined} onClick={onClose}>
          Back
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
  onProgress: (done: number) => void,
): Promise<{ readonly ok: boolean; readonly message: string }> {
  const refused: ManyReply['refused'][number][] = [];
  let done = 0;
  for (let start = 0; start < jobs.length; start += MANY_AT_ONCE) {
    onProgress(start);
    const ids = jobs.slice(start, start + MANY_AT_ONCE).map(({ jobId }) => jobId);
    const reply = await postMany(ids, action);
    if (reply.refused === undefined) return { ok: false, message: `${done} done, then: ${reply.message}` };
    done += reply.done ?? 0;
    refused.push(...reply.refused);
  }
  const verb = action === 'revive' ? 'revived' : 'cancelled';
  const [first] = refused;
  return first === undefined
    ? { ok: true, message: `${counted(done, 'job')} ${verb}` }
    : {
        ok: false,
        message: `${counted(done, 'job')} ${verb}, ${jobs.length - done} refused: ${first.message}`,
      };
}
