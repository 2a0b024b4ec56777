// Handlers may replace the global one.
import { setImmediate } from 'node:timers';
import type { FromCell, ToCell } from '../channel.ts';
import { createOutbox, type Outbox } from '../outbox.ts';

type Sender = (message: unknown, callback: (error: Error | null) => void) => boolean;

export interface CellChannel extends Outbox<FromCell> {
  /** A handler may have removed the listeners of its process. */
  listen(): void;
}

/** Takes over the channel, so that code loaded later cannot use it by accident. */
export function takeChannel(listener: { onMessage(message: ToCell): void; onClosed(): void }): CellChannel {
  const sendToHost = process.send?.bind(process) as Sender | undefined;
  if (sendToHost === undefined) throw new Error('a cell is started by its host, with a channel to it');
  const { send, flush } = createOutbox<FromCell>((batch) => sendToHost(batch, () => {}), setImmediate);
  const onMessage = (messages: unknown) => (messages as readonly ToCell[]).forEach(listener.onMessage);
  // Without a host, no lease here is renewed.
  const onDisconnect = () => {
    listener.onClosed();
    endGroup();
  };
  const listen = (): void => {
    if (!process.listeners('message').includes(onMessage)) process.on('message', onMessage);
    if (!process.listeners('disconnect').includes(onDisconnect)) process.on('disconnect', onDisconnect);
  };
  listen();
  // It may have disconnected before the listener was added.
  if (!process.connected) endGroup();
  process.on('exit', flush);
  process.send = undefined;
  return { send, flush, listen };
}

/** Includes everything the cell started, because a cell leads its process group. */
function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(1);
  }
}
