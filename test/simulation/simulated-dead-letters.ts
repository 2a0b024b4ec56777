import type { Settings } from '../../lib/settings/settings.ts';
import { visibilityTimeoutMs } from '../../lib/wire/queues.ts';
import { keepDeadLetter } from '../../lib/worker/hosts/dead-letter-host.ts';
import { silentTelemetry } from '../support/silent-ports.ts';
import type { Ports } from './planted-bug.ts';
import { SimulatedQueue } from './simulated-queue.ts';
import type { Process, World } from './world.ts';

const POLL_SECONDS = 20;

/** The dead-letter queue and its consumer, which Lambda starts again for as long as there are messages. */
export class SimulatedDeadLetters {
  readonly #world: World;
  readonly #settings: Settings;
  readonly #portsFor: (process: Process) => Ports;
  readonly #queue: SimulatedQueue;
  #isConsumed = false;
  #started = 0;

  constructor(world: World, settings: Settings, portsFor: (process: Process) => Ports) {
    this.#world = world;
    this.#settings = settings;
    this.#portsFor = portsFor;
    this.#queue = new SimulatedQueue(world, visibilityTimeoutMs(settings));
  }

  send(body: string): void {
    this.#queue.send(body, 0);
    this.#consume();
  }

  holds(test: (body: string) => boolean): boolean {
    return this.#queue.holds(test);
  }

  #consume(): void {
    if (this.#isConsumed || this.#queue.size === 0) return;
    this.#isConsumed = true;
    const over = () => {
      this.#isConsumed = false;
      this.#world.at(this.#world.random.integer(0, this.#world.pace.absenceMs), () => this.#consume());
    };
    const process = this.#world.spawn(`dead-letters${++this.#started}`, async (own) => {
      await this.#takeAll(own);
      over();
    });
    process.onDeath(over);
  }

  async #takeAll(process: Process): Promise<void> {
    const { clock } = process;
    const queue = this.#queue.seenBy(process);
    const parts = {
      ...this.#portsFor(process),
      ...{ settings: this.#settings, clock, telemetry: silentTelemetry },
    };
    while (this.#queue.size > 0) {
      for (const message of await queue.receive({ max: 1, waitSeconds: POLL_SECONDS }))
        if (await keepDeadLetter(parts, message)) await queue.delete([message]);
    }
  }
}
