import type { WakeQueue } from '../../lib/protocol/ports.ts';
import type { ReaperDeps } from '../../lib/reaper/deps.ts';
import { reap } from '../../lib/reaper/reap.ts';
import type { Trigger } from '../../lib/reaper/wake.ts';
import { SCHEDULE_JITTER_MS } from '../../lib/settings/recovery-bound.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { REAPER_TIMEOUT_SECONDS, wakeQueueAttributes } from '../../lib/wire/queues.ts';
import { silentEvents, silentTelemetry } from '../support/silent-ports.ts';
import { clientSettings } from './client-settings.ts';
import type { Process, World } from './world.ts';

const TIMEOUT_MS = REAPER_TIMEOUT_SECONDS * 1000;
const VISIBILITY_MS = wakeQueueAttributes.visibilityTimeoutSeconds * 1000;
const RETENTION_MS = wakeQueueAttributes.retentionSeconds * 1000;
/** A wake that comes this early at most. */
const EARLY_MS = 8000;

/** What one invocation works with. */
export type InvocationParts = Pick<ReaperDeps, 'table' | 'store' | 'queue'>;

/**
 * The deployed reaper: a schedule and a queue, either of which starts an invocation as a process of its own, with a clock of
 * its own. Ticks are lost, come late and are throttled; wakes are lost, doubled, late, early, and come back when their
 * invocation fails or dies.
 */
export class SimulatedChain {
  readonly #world: World;
  readonly #settings: Settings;
  readonly #partsFor: (process: Process) => InvocationParts;
  #stopped = false;
  #invocations = 0;
  #tokens = 0;

  constructor(world: World, settings: Settings, partsFor: (process: Process) => InvocationParts) {
    this.#world = world;
    this.#settings = settings;
    this.#partsFor = partsFor;
  }

  start(firstTickAfterMs: number): void {
    this.#world.at(firstTickAfterMs, () => this.#tick());
  }

  stop(): void {
    this.#stopped = true;
  }

  #tick(): void {
    if (this.#stopped) return;
    const world = this.#world;
    if (!world.fault('tickLost', 'schedule')) this.#invoke({ kind: 'tick' }, () => {});
    const jitter = world.random.integer(0, SCHEDULE_JITTER_MS);
    world.at(this.#settings.reaperIntervalMs + (world.random.chance(0.5) ? 0 : jitter), () => this.#tick());
  }

  /** One message in the queue, until an invocation that it started has succeeded or its time is over. */
  #deliver(token: string, expiresAt: number): void {
    if (this.#stopped || this.#world.now > expiresAt) return;
    this.#invoke({ kind: 'wake', tokens: [token] }, () =>
      this.#world.at(VISIBILITY_MS, () => this.#deliver(token, expiresAt)),
    );
  }

  #invoke(trigger: Trigger, onFailure: () => void): void {
    const world = this.#world;
    if (world.fault('reaperThrottled', 'lambda')) {
      onFailure();
      return;
    }
    const process = world.spawn(`reaper-${trigger.kind}${++this.#invocations}`, async (invocation) => {
      const result = await this.#run(invocation, trigger).catch((error: Error) => error);
      world.note(invocation.name, result instanceof Error ? `failed: ${result.message}` : result.ended);
      if (result instanceof Error) onFailure();
    });
    // Lambda ends what takes too long. What died meanwhile is known by then as well.
    world.at(TIMEOUT_MS, () => {
      if (!process.alive && !process.died) return;
      if (process.alive) process.die();
      onFailure();
    });
  }

  #run(process: Process, trigger: Trigger) {
    const { clock } = process;
    const deps = {
      ...this.#partsFor(process),
      ...{ settings: this.#settings, clock, telemetry: silentTelemetry, events: silentEvents },
      random: { unique: () => `wake${++this.#tokens}`, next: () => process.random.next() },
      name: 'function',
      wakeQueue: this.wakeQueueFor(process),
    };
    return reap(deps, trigger, { deadlineAt: clock.now() + TIMEOUT_MS - 10_000 });
  }

  wakeQueueFor(process: Process): WakeQueue {
    return { send: (token, seconds) => this.#send(process, token, seconds * 1000) };
  }

  #send(process: Process, token: string, delayMs: number): Promise<void> {
    const world = this.#world;
    const latency = () => world.random.integer(1, clientSettings.slowestMs);
    return new Promise((resolve, reject) => {
      world.at(latency(), () => {
        const fails = world.fault('sendFails', process.name);
        if (!fails && !world.fault('wakeVanishes', process.name)) {
          const copies = world.fault('messageDuplicated', 'wakes') ? 2 : 1;
          const late = world.fault('messageDelayed', 'wakes')
            ? world.random.integer(0, world.pace.messageMs)
            : 0;
          const early = world.fault('wakeEarly', 'wakes') ? world.random.integer(0, EARLY_MS) : 0;
          for (let copy = 1; copy <= copies; copy++)
            world.at(Math.max(0, delayMs - early) + (copy === copies ? late : 0), () =>
              this.#deliver(token, world.now + RETENTION_MS),
            );
        }
        process.resume(latency(), () => (fails ? reject(new Error('SQS refused')) : resolve()));
      });
    });
  }
}
