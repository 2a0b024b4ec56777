import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { BAD_MESSAGE_PREFIX } from '../../../../wire/table.ts';
import { counted, formatNumber } from '../../../inspect/counted.ts';
import type { ActionReply, JobSummary } from '../../page-messages.ts';
import type { Filter } from '../address.ts';
import { matchingIds, postJobAction } from '../api.ts';
import { toast, useCanAct } from '../state.ts';
import { actionOnAll, countOfAll, describeFilter } from './all-matching.ts';

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

interface Offer {
  readonly action: BulkAction;
  readonly label: string;
  readonly what: string;
  readonly count?: string;
  /** Shared by all that act at once, so each is taken once. */
  readonly jobIds: IterableIterator<string> | AsyncGenerator<string>;
  readonly about: ComponentChildren;
}

function offerSelected(action: BulkAction, selected: readonly JobSummary[]): Offer {
  const jobs = selected.filter(canHave[action]);
  return {
    action,
    label: `${action} ${jobs.length}`,
    what: counted(jobs.length, 'job'),
    count: formatNumber(jobs.length),
    jobIds: jobs.map(({ jobId }) => jobId).values(),
    about: (
      <ul>
        {jobs.slice(0, NAMED).map(({ jobId, type }) => (
          <li key={jobId}>
            <span class="id">{jobId}</span> <span class="muted">{type}</span>
          </li>
        ))}
        {jobs.length > NAMED && <li class="muted">and {jobs.length - NAMED} more</li>}
      </ul>
    ),
  };
}

function offerAll(filter: Filter): Offer | undefined {
  const action = actionOnAll(filter);
  if (action === undefined) return undefined;
  const count = countOfAll(filter);
  const what = count === undefined ? 'all that match' : `all ${count} that match`;
  const about = <p>{describeFilter(filter)}. Those that have ended or changed by then are left alone.</p>;
  return { action, label: `${action} ${what}`, what, count, jobIds: matchingIds(filter), about };
}

export function BulkBar(props: {
  readonly selected: readonly JobSummary[];
  readonly filter: Filter;
  readonly isAll: boolean;
  readonly onDone: () => void;
}) {
  const { selected, filter, isAll, onDone } = props;
  const canAct = useCanAct();
  const dialog = useRef<HTMLDialogElement>(null);
  // Fixes the confirmed jobs, however the list changes.
  const [asked, setAsked] = useState<Offer>();
  const offers = [
    offerSelected('revive', selected),
    offerSelected('cancel', selected),
    isAll ? offerAll(filter) : undefined,
  ].filter((offer) => offer !== undefined);
  return (
    <>
      {selected.length > 0 && (
        <footer class="list-foot bulk">
          <b>{selected.length} selected</b>
          {offers.map((offer) => (
            <button
              key={offer.label}
              type="button"
              class={offer.action === 'cancel' ? 'button small danger' : 'button small'}
              disabled={!canAct || offer.count === '0'}
              onClick={() => {
                setAsked(offer);
                dialog.current?.showModal();
              }}
            >
              {offer.label}
            </button>
          ))}
          <button type="button" class="button small" onClick={onDone}>
            clear
          </button>
        </footer>
      )}
      <dialog ref={dialog} class="ask" aria-labelledby="ask-title" onClose={() => setAsked(undefined)}>
        {asked !== undefined && (
          <Question {...asked} onClose={() => dialog.current?.close()} onDone={onDone} />
        )}
      </dialog>
    </>
  );
}

function Question(props: Offer & { readonly onClose: () => void; readonly onDone: () => void }) {
  const { action, what, count, jobIds, about, onClose, onDone } = props;
  const canAct = useCanAct();
  const [done, setDone] = useState<number>();
  const stopping = useRef(new AbortController());
  const stop = () => stopping.current.abort();
  useEffect(() => stop, []);
  const run = async () => {
    setDone(0);
    toast(await actOn(jobIds, action, setDone, stopping.current.signal));
    onClose();
    onDone();
  };
  return (
    <>
      <h2 id="ask-title">
        {action === 'revive' ? 'Revive' : 'Cancel'} {what}?
      </h2>
      <p>{explains[action]}</p>
      {about}
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
          {done === undefined
            ? `${action} ${what}`
            : `${formatNumber(done)}${count === undefined ? '' : ` of ${count}`}…`}
        </button>
      </p>
    </>
  );
}

async function actOn(
  jobIds: Offer['jobIds'],
  action: BulkAction,
  onProgress: (looked: number) => void,
  stopping: AbortSignal,
): Promise<ActionReply> {
  const refused: string[] = [];
  let looked = 0;
  const actInTurn = async () => {
    for await (const jobId of jobIds) {
      if (stopping.aborted) return;
      const { ok, message } = await postJobAction(jobId, action);
      if (!ok) refused.push(message);
      onProgress(++looked);
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, actInTurn));
  const broken = ends.find((end) => end.status === 'rejected');
  const problem = broken === undefined ? '' : `; then: ${(broken.reason as Error).message}`;
  const acted = `${counted(looked - refused.length, 'job')} ${action === 'revive' ? 'revived' : 'cancelled'}`;
  const why = refused.length === 0 ? '' : `, ${formatNumber(refused.length)} refused: ${refused[0]}`;
  return { ok: why + problem === '', message: acted + why + problem };
}
