import type { RefObject } from 'preact';

const keys: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['1 … 7', 'show all, queued, running, pending, done, failed, cancelled'],
  ['j k', 'move through the list, from anywhere; ↑ ↓ where it has the focus'],
  ['x', 'select the job, to act on many'],
  ['Enter', 'open the job'],
  ['p', 'pause live updates, or go on'],
  ['Esc', 'back to the list'],
  ['Tab', 'reach every button'],
  ['?', 'show these keys'],
];

export function Help({ dialog }: { readonly dialog: RefObject<HTMLDialogElement | null> }) {
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        <dl>
          {keys.map(([key, does]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </dialog>
  );
}
