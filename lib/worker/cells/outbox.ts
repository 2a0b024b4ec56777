/** Sends all messages of one event-loop turn together, because sends are expensive. */
export class Outbox<Message> {
  readonly #send: (messages: readonly Message[]) => void;
  readonly #soon: (run: () => void) => void;
  #unsent: Message[] = [];

  constructor(send: (messages: readonly Message[]) => void, soon: (run: () => void) => void) {
    this.#send = send;
    this.#soon = soon;
  }

  readonly say = (message: Message): void => {
    this.#unsent.push(message);
    if (this.#unsent.length === 1) this.#soon(this.flush);
  };

  readonly flush = (): void => {
    const said = this.#unsent;
    this.#unsent = [];
    if (said.length > 0) this.#send(said);
  };
}
