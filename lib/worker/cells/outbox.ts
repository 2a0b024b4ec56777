/** Sends all messages of one event-loop turn together, because sends are expensive. */
export class Outbox<Message> {
  readonly #sendBatch: (messages: readonly Message[]) => void;
  readonly #defer: (run: () => void) => void;
  #unsent: Message[] = [];

  constructor(sendBatch: (messages: readonly Message[]) => void, defer: (run: () => void) => void) {
    this.#sendBatch = sendBatch;
    this.#defer = defer;
  }

  readonly send = (message: Message): void => {
    this.#unsent.push(message);
    if (this.#unsent.length === 1) this.#defer(this.flush);
  };

  readonly flush = (): void => {
    const batch = this.#unsent;
    this.#unsent = [];
    if (batch.length > 0) this.#sendBatch(batch);
  };
}
