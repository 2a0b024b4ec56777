// Handlers may replace the global one.
import { setImmediate } from 'node:timers';
import type { FromCell, ToCell } from '../channel.ts';

/** The cell's end of the channel. */
export interface CellChannel {
  /** Sends with whatever else is said in this turn of the event loop. */
  say(message: FromCell): void;
  /** Sends what was said so far, now. */
  flush(): void;
}

type Sender = (message: unknown, callback: (error: Error | null) => void) => boolean;

/** Takes the channel over, so that code which is loaded later cannot speak on it by accident. */
export function takeChannel(listener: {
  hear(message: ToCell): void;
  /** Called before this process ends because its channel did. */
  onClosed(): void;
}): CellChannel {
  const send = process.send?.bind(process) as Sender | undefined;
  if (send === undefined) throw new Error('a cell is started by its host, with a channel to it');
  let unsaid: FromCell[] = [];
  let isPlanned = false;
  const flush = () => {
    isPlanned = false;
    if (unsaid.length === 0) return;
    const said = unsaid;
    unsaid = [];
    // A host that is gone needs no answer: the cell is about to end as well.
    send(said, () => {});
  };
  process.on('message', (messages: readonly ToCell[]) => messages.forEach(listener.hear));
  // Without a host nobody keeps the leases of what runs here.
  process.on('disconnect', () => {
    listener.onClosed();
    endGroup();
  });
  // It may have gone before anybody listened.
  if (!process.connected) endGroup();
  process.on('exit', flush);
  process.send = undefined;
  return {
    say(message) {
      unsaid.push(message);
      if (isPlanned) return;
      isPlanned = true;
      setImmediate(flush);
    },
    flush,
  };
}

/** Ends this process and all that it has started: a cell leads a group of its own. */
function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(1);
  }
}
