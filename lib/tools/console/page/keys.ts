import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { backToList, noFilter, placeNow, setFilter, statusFilters } from './address.ts';
import { togglePause } from './stream.ts';

interface Keys {
  readonly help: RefObject<HTMLDialogElement | null>;
  readonly search: RefObject<HTMLInputElement | null>;
}

/** These work wherever the focus is. */
const LIST_KEYS: ReadonlySet<string> = new Set(['j', 'k', 'x', 'Enter']);

const isField = (target: EventTarget | null): target is HTMLElement =>
  target instanceof HTMLInputElement ? target.type !== 'checkbox' : target instanceof HTMLSelectElement;
const isPressed = (target: EventTarget | null): boolean =>
  target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement;

/** Keep `help.tsx` in step with these keys. */
export function useKeys({ help, search }: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const isOnList = placeNow().view === 'list';
      if (key === 'Escape') {
        if (isField(target)) target.blur();
        else if (!isOnList) backToList();
        return;
      }
      if (isField(target)) return;
      if (key === '?') help.current?.showModal();
      else if (key === 'p') togglePause();
      else if (key === '/') {
        event.preventDefault();
        if (!isOnList) backToList();
        setTimeout(() => search.current?.focus());
      } else if (/^[1-7]$/.test(key)) chooseStatus(Number(key) - 1);
      else if (LIST_KEYS.has(key) && !(key === 'Enter' && isPressed(target)))
        // A focused list handles the key itself first.
        document.dispatchEvent(new CustomEvent('listkey', { detail: key }));
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function chooseStatus(index: number): void {
  if (placeNow().view !== 'list') backToList();
  // The address changes first.
  setTimeout(() => {
    const place = placeNow();
    const filter = place.view === 'list' ? place.filter : noFilter;
    setFilter({ ...filter, status: statusFilters[index] ?? 'all' });
  });
}
