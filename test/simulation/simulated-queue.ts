import type { Hint, JobQueue, ReceivedMessage } from '../../lib/protocol/ports.ts';
import { hintBody } from '../../lib/wire/message.ts';
import { clientSettings } from './client-settings.ts';
import type { Process, World } from './world.ts';

interface Message {
  readonly messageId: string;
  readonly body: string;
  readonly sentAt: number;
  visibleAt: number;
  receiveCount: number;
  receiptHandle: string;
}

/** SQS as it is: at least once, in any order, sometimes late, and never a promise that a message is still there. */
export class SimulatedQueue {
  readonly #world: World;
  readonly #visibilityMs: number;
  readonly #messages = new Map<string, Message>();
  #waiters: (() => void)[] = [];
  #sent = 0;

  constructor(world: World, visibilityMs: number) {
    this.#world = world;
    this.#visibilityMs = visibilityMs;
  }

  get size(): number {
    return this.#messages.size;
  }

  send(body: string, delayMs: number): string {
    const world = this.#world;
    const copies = world.fault('messageDuplicated', 'queue') ? 2 : 1;
    const late = world.fault('messageDelayed', 'queue') ? world.random.integer(0, world.pace.messageMs) : 0;
    const messageId = `m${++this.#sent}`;
    for (let copy = 1; copy <= copies; copy++)
      this.#put({
        messageId,
        body,
        sentAt: world.now,
        visibleAt: world.now + delayMs + (copy === copies ? late : 0),
        receiveCount: 0,
        receiptHandle: `${messageId}/${copy}`,
      });
    return messageId;
  }

  /** Loses every message that `mayGo` lets go. */
  purge(mayGo: (body: string) => boolean): void {
    for (const [key, message] of this.#messages) if (mayGo(message.body)) this.#messages.delete(key);
  }

  holds(test: (body: string) => boolean): boolean {
    for (const { body } of this.#messages.values()) if (test(body)) return true;
    return false;
  }

  /** The queue as one process sees it. */
  seenBy(process: Process): JobQueue {
    const later = <T>(carryOut: () => T): Promise<T> =>
      new Promise((resolve) => {
        const latency = () => this.#world.random.integer(1, clientSettings.slowestMs);
        this.#world.at(latency(), () => {
          const result = carryOut();
          process.resume(latency(), () => resolve(result));
        });
      });
    const failsToSend = () => this.#world.fault('sendFails', process.name);
    return {
      sendHints: (hints) => later(() => this.#sendHints(hints, process)),
      sendJobs: (bodies) =>
        later(() =>
          bodies.map(({ body, delaySeconds = 0 }) =>
            failsToSend()
              ? { outcome: 'failed' as const, reason: 'simulated' }
              : { outcome: 'sent' as const, messageId: this.send(body, delaySeconds * 1000) },
          ),
        ),
      receive: (request) => this.#receive(process, request.max, request.waitSeconds * 1000, request.signal),
      delete: (messages) =>
        later(() => {
          for (const { receiptHandle } of messages)
            if (!this.#world.fault('deleteFails', process.name)) this.#messages.delete(receiptHandle);
        }),
      changeVisibility: (messages, seconds) =>
        later(() => {
          for (const { receiptHandle } of messages) {
            const message = this.#messages.get(receiptHandle);
            if (message !== undefined) this.#showAt(message, this.#world.now + seconds * 1000);
          }
        }),
    };
  }

  #sendHints(hints: readonly Hint[], process: Process) {
    const failed: string[] = [];
    for (const hint of hints) {
      if (this.#world.fault('sendFails', process.name)) failed.push(hint.jobId);
      else if (!this.#world.fault('hintVanishes', process.name))
        this.send(hintBody(hint), hint.delaySeconds * 1000);
    }
    return { sent: hints.length - failed.length, failed };
  }

  #put(message: Message): void {
    this.#messages.set(message.receiptHandle, message);
    this.#showAt(message, message.visibleAt);
  }

  #showAt(message: Message, visibleAt: number): void {
    message.visibleAt = visibleAt;
    this.#world.at(visibleAt - this.#world.now, () => {
      const waiters = this.#waiters;
      this.#waiters = [];
      for (const wake of waiters) wake();
    });
  }

  /** A long poll: ends with the first message, or empty after the wait. Other pollers woken by it poll on. */
  #receive(process: Process, max: number, waitMs: number, signal?: AbortSignal): Promise<ReceivedMessage[]> {
    const world = this.#world;
    const until = world.now + waitMs;
    return new Promise((resolve, reject) => {
      let over = false;
      const end = (messages: ReceivedMessage[]) => {
        over = true;
        process.resume(world.random.integer(1, clientSettings.slowestMs), () => resolve(messages));
      };
      const look = () => {
        if (over || !process.alive) return;
        const messages = process.isAwake ? this.#take(max) : [];
        if (messages.length > 0 || world.now >= until) end(messages);
        else this.#waiters.push(look);
      };
      signal?.addEventListener('abort', () => {
        over = true;
        reject(signal.reason);
      });
      world.at(waitMs, look);
      look();
    });
  }

  #take(max: number): ReceivedMessage[] {
    const visible = [...this.#messages.values()].filter(({ visibleAt }) => visibleAt <= this.#world.now);
    const taken: ReceivedMessage[] = [];
    while (taken.length < max && visible.length > 0) {
      const [message] = visible.splice(this.#world.random.integer(0, visible.length - 1), 1);
      if (message === undefined) break;
      message.receiveCount++;
      this.#showAt(message, this.#world.now + this.#visibilityMs);
      taken.push({ ...message });
    }
    return taken;
  }
}
