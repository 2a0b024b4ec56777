import type { RefObject } from 'preact';

const keys: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['1 … 6', 'show all, running, pending, done, failed, cancelled'],
  ['↑ ↓ or k j', 'move through the list'],
  ['Enter', 'open the job'],
  ['Esc', 'back to the list'],
  ['Tab', 'reach every button'],
  ['?', 'show these keys'],
];

/** What the keyboard can do. */
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
