export type Outbox<Message> = ReturnType<typeof createOutbox<Message>>;

/** One send per event-loop turn, because sends are expensive. */
export function createOutbox<Message>(
  sendBatch: (messages: readonly Message[]) => void,
  defer: (run: () => void) => void,
) {
  let unsent: Message[] = [];
  const flush = (): void => {
    const batch = unsent;
    unsent = [];
    if (batch.length > 0) sendBatch(batch);
  };
  const send = (message: Message): void => {
    if (unsent.push(message) === 1) defer(flush);
  };
  return { send, flush };
}
