import type { Clock, Random } from '../../lib/protocol/ports.ts';
import { derivedSeed, type SeededRandom, seededRandom } from '../support/random.ts';
import { EventHeap } from './event-heap.ts';
import { type FaultKind, type FaultRates, faultKinds, swarm } from './fault-kinds.ts';
import { type Pace, planPace, type Size } from './scenario.ts';

/** True time at which every simulated world begins: a round number that is easy to recognise in a timeline. */
export const WORLD_START = 1_800_000_000_000;

export interface TimelineLine {
  readonly at: number;
  readonly who: string;
  readonly text: string;
}

export interface WorldOptions {
  readonly seed: number;
  readonly size: Size;
  /** Largest distance of a process's clock from true time. */
  readonly maxOffsetMs: number;
  /** Faults by ordinal that do not happen this time: how a timeline is made minimal. */
  readonly suppressed?: ReadonlySet<number>;
  readonly rates?: Partial<FaultRates>;
  /** Keeps a timeline, which costs time. */
  readonly traced?: boolean;
}

/** True time, chance and faults of one schedule, all from one seed. */
export class World {
  readonly seed: number;
  readonly size: Size;
  readonly pace: Pace;
  readonly random: SeededRandom;
  readonly timeline: TimelineLine[] = [];
  readonly faultsInjected: number[] = [];
  readonly faultCounts: Partial<Record<FaultKind, number>> = {};
  readonly traced: boolean;
  /** How often each kind of fault met each kind of request. */
  readonly meetings = new Map<string, number>();
  readonly processes: Process[] = [];
  now = WORLD_START;
  /** After it nothing goes wrong any more: from then on everything must come to its end. */
  calm = false;
  violation: string | undefined;
  events = 0;
  /** Whether the last event let some process's code go on: only then is there anything to settle. */
  hasResumed = false;
  /** Time in which nothing happened. */
  skippedMs = 0;
  /** Requests on their way to the table, some of which arrive long after their sender gave up. */
  inFlight = 0;
  readonly #heap = new EventHeap();
  readonly #faults: SeededRandom;
  readonly #rates: FaultRates;
  readonly #suppressed: ReadonlySet<number>;
  readonly #maxOffsetMs: number;
  #faultOrdinal = 0;

  constructor(options: WorldOptions) {
    this.seed = options.seed;
    this.size = options.size;
    this.pace = planPace(seededRandom(derivedSeed(options.seed, 'pace')), options.size);
    this.random = seededRandom(derivedSeed(options.seed, 'schedule'));
    this.#faults = seededRandom(derivedSeed(options.seed, 'faults'));
    this.#suppressed = options.suppressed ?? new Set();
    this.#maxOffsetMs = options.maxOffsetMs;
    this.traced = options.traced ?? false;
    this.#rates = {
      ...swarm(seededRandom(derivedSeed(options.seed, 'swarm')), options.size),
      ...options.rates,
    };
  }

  /** Runs something at a later moment, whoever may have died by then. */
  at(delayMs: number, run: () => void): void {
    this.#heap.push(this.now + Math.max(0, delayMs), run);
  }

  /** Carries out the next event; false when there is none. */
  step(): boolean {
    const event = this.#heap.pop();
    if (event === undefined) return false;
    this.now = Math.max(this.now, event.at);
    this.events++;
    this.hasResumed = false;
    event.run();
    return true;
  }

  /** What is due meanwhile comes late. */
  skip(ms: number): void {
    this.now += ms;
    this.skippedMs += ms;
    this.note('world', `${Math.round(ms / 86_400_000)} days pass`);
  }

  /** Whether a fault happens here and now. */
  fault(kind: FaultKind, who = 'world'): boolean {
    if (this.calm) return false;
    const rate = this.#rates[kind];
    if (rate === 0 || !this.#faults.chance(faultKinds[kind] * rate)) return false;
    const ordinal = this.#faultOrdinal++;
    if (this.#suppressed.has(ordinal)) return false;
    this.faultsInjected.push(ordinal);
    this.faultCounts[kind] = (this.faultCounts[kind] ?? 0) + 1;
    this.note(who, `FAULT ${kind}`);
    return true;
  }

  /** Whether this kind of fault can happen at all in this schedule. */
  canSuffer(kind: FaultKind): boolean {
    return this.#rates[kind] > 0;
  }

  /** A fault met a request: kept for the table of what is exercised where. */
  met(kind: FaultKind, operation: string): void {
    const meeting = `${kind} ${operation}`;
    this.meetings.set(meeting, (this.meetings.get(meeting) ?? 0) + 1);
  }

  note(who: string, text: string): void {
    if (this.traced) this.timeline.push({ at: this.now - WORLD_START, who, text });
  }

  /** The first broken promise ends the schedule. */
  violate(text: string): void {
    if (this.violation !== undefined) return;
    this.violation = text;
    this.note('JUDGE', `VIOLATION: ${text}`);
  }

  /** A process on the machine of another shares its clocks. */
  spawn(name: string, main: (process: Process) => Promise<void>, machine?: Process): Process {
    const random = seededRandom(derivedSeed(this.seed, name));
    const offset = random.integer(-this.#maxOffsetMs, this.#maxOffsetMs);
    const process = new Process(this, name, random, offset, machine);
    this.processes.push(process);
    this.note(
      name,
      machine === undefined ? `starts, clock off by ${offset} ms` : `starts under ${machine.name}`,
    );
    this.at(0, () => {
      this.hasResumed = true;
      main(process)
        .catch((error: unknown) => {
          this.violate(`${name} broke: ${error instanceof Error ? error.stack : String(error)}`);
        })
        .finally(() => {
          process.alive = false;
        });
    });
    return process;
  }

  newOffset(random: SeededRandom): number {
    return random.integer(-this.#maxOffsetMs, this.#maxOffsetMs);
  }
}

/** A reason of its own spares each stop the making of an exception. */
const STOPPED = 'stopped';

/** A worker, reaper or operator: code that can be stopped for ever or for a while at any await. */
export class Process {
  readonly world: World;
  readonly name: string;
  readonly random: SeededRandom & Random;
  readonly clock: Clock;
  alive = true;
  /** Requests of its own that have no answer yet. */
  readonly underWay: string[] = [];
  /** Ended by no decision of its own. */
  died = false;
  /** Has been told to go, even if it has not noticed yet. */
  leaving = false;
  readonly #stop = new AbortController();
  pausedUntil = 0;
  partitionedUntil = 0;
  /** When a request of its own last came to grief. */
  troubledAt = 0;
  offsetMs: number;
  /** Time that the monotonic clock has missed. */
  suspendedMs = 0;
  /** Whose clocks it reads. */
  readonly machine: Process;
  readonly #mourners: (() => void)[] = [];
  #unique = 0;

  constructor(world: World, name: string, random: SeededRandom, offsetMs: number, machine?: Process) {
    this.world = world;
    this.machine = machine ?? this;
    this.name = name;
    this.random = { ...random, unique: () => `${++this.#unique}` };
    this.offsetMs = offsetMs;
    this.clock = {
      now: () => world.now + this.machine.offsetMs,
      monotonic: () => world.now - WORLD_START - this.machine.suspendedMs,
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
  }

  /** Runs the process's own code later: never once it is dead, and after the pause while it is paused. */
  resume(delayMs: number, run: () => void): void {
    this.world.at(delayMs, () => {
      if (!this.alive) return;
      if (this.pausedUntil > this.world.now) this.resume(this.pausedUntil - this.world.now, run);
      else if (this.world.fault('diesAtAwait', this.name)) this.die();
      else {
        this.world.hasResumed = true;
        run();
      }
    });
  }

  /** As `resume`, for what happens so often that a death there would be the end of every process. */
  tick(delayMs: number, run: () => void): void {
    this.world.at(delayMs, () => {
      if (!this.alive) return;
      if (this.pausedUntil > this.world.now) return this.tick(this.pausedUntil - this.world.now, run);
      this.world.hasResumed = true;
      run();
    });
  }

  /** SIGTERM, or the end of the world: the process is to end what it does and go. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.leaving = true;
    if (!this.#stop.signal.aborted) this.resume(0, () => this.#stop.abort(STOPPED));
  }

  die(): void {
    if (!this.alive) return;
    this.alive = false;
    this.died = true;
    this.#tell('dies');
    this.world.note(this.name, 'DIES');
    for (const mourn of this.#mourners) mourn();
  }

  onDeath(mourn: () => void): void {
    this.#mourners.push(mourn);
  }

  pause(ms: number, monotonicStops: boolean): void {
    this.pausedUntil = Math.max(this.pausedUntil, this.world.now + ms);
    this.#tell(monotonicStops ? 'suspends' : 'pauses');
    if (monotonicStops) this.suspendedMs += ms;
    this.world.note(this.name, `${monotonicStops ? 'SUSPENDED' : 'PAUSED'} for ${ms} ms`);
  }

  #tell(kind: FaultKind): void {
    for (const operation of this.underWay) this.world.met(kind, operation);
  }

  /** Whether its code could run right now. */
  get isAwake(): boolean {
    return this.alive && this.pausedUntil < this.world.now;
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let over = false;
      const cancel = () => {
        over = true;
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', cancel, { once: true });
      this.resume(Math.ceil(ms), () => {
        if (over) return;
        over = true;
        signal?.removeEventListener('abort', cancel);
        resolve();
      });
    });
  }
}
