import type { ToCell } from '../channel.ts';

export type HostTalk = (message: ToCell) => void;

/** Says something to a cell, with whatever else is said in the same turn of the event loop. */
export function createHostTalk(
  send: (messages: readonly ToCell[]) => void,
  soon: (run: () => void) => void,
): HostTalk {
  let unsaid: ToCell[] = [];
  const flush = () => {
    const said = unsaid;
    unsaid = [];
    send(said);
  };
  return (message) => {
    unsaid.push(message);
    if (unsaid.length === 1) soon(flush);
  };
}
