// Handlers may replace the global one.
import { setImmediate } from 'node:timers';
import type { FromCell, ToCell } from '../channel.ts';
import { Outbox } from '../outbox.ts';

type Sender = (message: unknown, callback: (error: Error | null) => void) => boolean;

/** Takes over the channel, so that code loaded later cannot use it by accident. */
export function takeChannel(listener: {
  hear(message: ToCell): void;
  /** Called before the process ends with its channel. */
  onClosed(): void;
}): Outbox<FromCell> {
  const send = process.send?.bind(process) as Sender | undefined;
  if (send === undefined) throw new Error('a cell is started by its host, with a channel to it');
  // Without a host, this cell is about to end.
  const channel = new Outbox<FromCell>((said) => send(said, () => {}), setImmediate);
  process.on('message', (messages: readonly ToCell[]) => messages.forEach(listener.hear));
  // Without a host, no lease here is renewed.
  process.on('disconnect', () => {
    listener.onClosed();
    endGroup();
  });
  // It may have disconnected before the listener was added.
  if (!process.connected) endGroup();
  process.on('exit', channel.flush);
  process.send = undefined;
  return channel;
}

/** Includes everything the cell has started, because a cell leads its process group. */
function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(1);
  }
}
