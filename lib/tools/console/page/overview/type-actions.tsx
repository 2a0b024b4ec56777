import { useRef, useState } from 'preact/hooks';
import { MAX_LIMIT } from '../../../../wire/limits.ts';
import type { TypeAction } from '../../page-messages.ts';
import { postTypeAction } from '../api.ts';
import { age } from '../format.ts';
import { serverNow, state, toast, useCanAct, useTopic } from '../state.ts';

/** Types of which no job may be listed, but which an operator has paused or limited. */
export const controlledTypes = (): readonly string[] => {
  const { paused = [], limits = [] } = state.figures?.parked ?? {};
  return [...paused, ...limits].map(({ type }) => type);
};

const pausedSince = (type: string): number | undefined =>
  state.figures?.parked?.paused.find((each) => each.type === type)?.since;

export function Controls({ type }: { readonly type: string }) {
  useTopic('figures');
  const since = pausedSince(type);
  const changed = state.figures?.parked?.limits.find((each) => each.type === type && each.key === undefined);
  return (
    <>
      {since !== undefined && <span class="badge warn">paused {age(since, serverNow())}</span>}
      {changed !== undefined && <span class="badge">limit {changed.limit}</span>}
    </>
  );
}

const explains: Readonly<Record<TypeAction, string>> = {
  pause: 'Within 10 s, its jobs wait instead of starting, and none is lost. Running ones continue.',
  resume: 'Each waiting job gets a message. You may repeat this.',
  limit: `How many of its jobs may run at once, from 1 to ${MAX_LIMIT}. Leave it empty for the limit of the definition. Running jobs continue.`,
};
const titles: Readonly<Record<TypeAction, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  limit: 'Change the limit of',
};

export function TypeActions({ type }: { readonly type: string }) {
  useTopic('figures');
  const canAct = useCanAct();
  const dialog = useRef<HTMLDialogElement>(null);
  const [action, setAction] = useState<TypeAction>('pause');
  const [limit, setLimit] = useState('');
  const ask = (chosen: TypeAction) => {
    setAction(chosen);
    setLimit('');
    dialog.current?.showModal();
  };
  const run = async () => {
    dialog.current?.close();
    const given = action === 'limit' && limit !== '' ? Number(limit) : undefined;
    toast(await postTypeAction(type, action, given));
  };
  const toggle: TypeAction = pausedSince(type) === undefined ? 'pause' : 'resume';
  const offered: readonly TypeAction[] =
    state.figures?.parked?.hasLimits === true ? [toggle, 'limit'] : [toggle];
  return (
    <span class="type-actions">
      {offered.map((name) => (
        <button
          key={name}
          type="button"
          class="button small"
          aria-label={`${name} ${type}`}
          disabled={!canAct}
          onClick={() => ask(name)}
        >
          {name}
        </button>
      ))}
      <dialog ref={dialog} class="ask" aria-label={`${titles[action]} ${type}?`}>
        <h2>
          {titles[action]} {type}?
        </h2>
        <p>{explains[action]}</p>
        {action === 'limit' && (
          <input
            type="number"
            min="1"
            max={MAX_LIMIT}
            aria-label={`Limit of ${type}`}
            value={limit}
            onInput={(event) => setLimit(event.currentTarget.value)}
          />
        )}
        <p class="ask-buttons">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Back
          </button>
          <button type="button" class="button strong" disabled={!canAct} onClick={run}>
            {action === 'limit' ? 'change' : action}
          </button>
        </p>
      </dialog>
    </span>
  );
}
