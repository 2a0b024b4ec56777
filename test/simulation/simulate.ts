import { createControlReader } from '../../lib/protocol/limits/control.ts';
import { pauseType, resumeType } from '../../lib/protocol/limits/operate.ts';
import { messageLimits } from '../../lib/settings/message-limits.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { jobBody, parseMessage } from '../../lib/wire/message.ts';
import { visibilityTimeoutMs } from '../../lib/wire/queues.ts';
import { derivedSeed, seededRandom } from '../support/random.ts';
import { plantChaos } from './chaos-events.ts';
import type { FaultKind } from './fault-kinds.ts';
import { Judge } from './judge.ts';
import { createObservedStore } from './observed-store.ts';
import { type PlannedTick, planTicks } from './planned-ticks.ts';
import type { PlantedBug, Ports } from './planted-bug.ts';
import { type PlannedJob, planScenario, type Scenario, type Size, simulatedSettings } from './scenario.ts';
import { SimulatedChain } from './simulated-chain.ts';
import { SimulatedDeadLetters } from './simulated-dead-letters.ts';
import { SIMULATED_TYPE } from './simulated-handler.ts';
import { SimulatedPools } from './simulated-pools.ts';
import { SimulatedQueue } from './simulated-queue.ts';
import { runReaper } from './simulated-reaper.ts';
import { SimulatedServer } from './simulated-server.ts';
import { createSimulatedTable } from './simulated-table.ts';
import { runWorker } from './simulated-worker.ts';
import { type Process, type TimelineLine, WORLD_START, World } from './world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** @default 'full' */
  readonly size?: Size;
  /** @default - as the seed plans it */
  readonly scenario?: Scenario;
  readonly bug?: PlantedBug;
  /** Whether ticks of schedules come as well. */
  readonly ticks?: boolean;
  /** Whether there are two pools, between which the type moves. */
  readonly pools?: boolean;
  readonly suppressed?: ReadonlySet<number>;
  readonly traced?: boolean;
}

export interface SimulationResult {
  readonly seed: number;
  /** The first promise that was broken. */
  readonly violation?: string;
  readonly events: number;
  readonly virtualMs: number;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  readonly faultsInjected: readonly number[];
  readonly writes: Readonly<Record<string, number>>;
  /** How often each kind of fault met each kind of request. */
  readonly meetings: ReadonlyMap<string, number>;
  readonly timeline: readonly TimelineLine[];
}

/** After chaos ends, everything has to come to its end within this virtual time. */
const LONGEST_CALM_MS = 3_600_000;
/** How often in calm the judge looks at what nobody has moved. */
const LOOK_MS = 30_000;
const MOST_EVENTS = 60_000;
/** After calm: whatever paused its jobs last has been applied. */
const LONGEST_PAUSE_MS = 300_000;

type OperatorParts = Parameters<typeof resumeType>[0];

const unaltered = (ports: Ports) => ports;
const NO_BUG: PlantedBug = { name: 'none', breaks: /^$/ };

/** One schedule: a world that is stepped until all has come to rest. */
export class Simulation {
  readonly world: World;
  readonly judge: Judge;
  readonly server: SimulatedServer;
  readonly queue: SimulatedQueue;
  readonly scenario: Scenario;
  readonly #bug: PlantedBug;
  readonly #chain: SimulatedChain;
  readonly #deadLetters: SimulatedDeadLetters;
  readonly #queues: readonly SimulatedQueue[];
  readonly #pools: SimulatedPools | undefined;
  /** The job that each body asks for, or '' for a hint. */
  readonly #jobIds = new Map<string, string>();
  #spawned = 0;
  #stopped = false;
  #finished = false;

  constructor({ seed, scenario, bug = NO_BUG, ticks = false, pools = false, ...options }: SimulationOptions) {
    const size = scenario?.size ?? options.size ?? 'full';
    this.#bug = bug;
    this.world = new World({
      seed,
      maxOffsetMs: simulatedSettings.skewMs / 2,
      // A tick that waits for weeks is too late, and dropped. Attempts start anew with a row that was deleted by hand, so that a
      // limit cannot tell them apart.
      rates: {
        ...bug.rates,
        ...(ticks ? { weeksPass: 0 } : undefined),
        ...(size === 'limited' ? { rowDeleted: 0 } : undefined),
      },
      ...options,
      size,
    });
    this.scenario = scenario ?? planScenario(seededRandom(derivedSeed(seed, 'scenario')), size);
    this.judge = new Judge(this.world, simulatedSettings, this.scenario.limit);
    this.server = new SimulatedServer(
      this.world,
      (before, after, write) => this.judge.observe(before, after, write),
      { alterWrite: bug.alterWrite ?? ((write) => write), alterQuery: bug.alterQuery ?? ((_, page) => page) },
    );
    const newQueue = () => new SimulatedQueue(this.world, visibilityTimeoutMs(simulatedSettings));
    this.queue = newQueue();
    const render = newQueue();
    this.#queues = pools ? [this.queue, render] : [this.queue];
    this.#pools = pools ? new SimulatedPools(this.world, { default: this.queue, render }) : undefined;
    this.#deadLetters = new SimulatedDeadLetters(this.world, simulatedSettings, (process) =>
      this.#portsFor(process),
    );
    for (const job of this.scenario.jobs) this.#plan(job);
    if (this.scenario.pause !== undefined) this.#planPause(this.scenario.pause);
    if (ticks) for (const tick of planTicks(seed, this.scenario.chaosMs)) this.#planTick(tick);
    for (let n = 0; n < this.scenario.workers; n++) this.spawnWorker();
    for (let n = 0; n < this.scenario.reapers; n++) this.spawnReaper(this.scenario.reapersAfterMs);
    this.#chain = new SimulatedChain(this.world, this.#reaperSettings, (process) =>
      this.#reaperPorts(process),
    );
    if (this.scenario.chain) this.#chain.start(this.scenario.reapersAfterMs);
    plantChaos(this);
    this.world.at(this.scenario.chaosMs, () => this.#calmDown());
  }

  /** Carries out one event; false once the schedule is over. */
  step(): boolean {
    if (this.#finished) return false;
    const { world } = this;
    const more = world.step();
    if (!this.#stopped && this.#isOver()) {
      this.#stopped = true;
      this.#chain.stop();
      world.note('world', 'all has ended');
      for (const process of world.processes) if (process.alive) process.stop();
    }
    const outOfTime = world.now - world.skippedMs > WORLD_START + this.scenario.chaosMs + LONGEST_CALM_MS;
    const atRest = this.#stopped && world.inFlight === 0 && !world.processes.some(({ alive }) => alive);
    if (world.violation === undefined && more && !atRest && !outOfTime && world.events < MOST_EVENTS)
      return true;
    this.#finished = true;
    if (world.violation === undefined) this.judge.judgeTheEnd(this.server.rows);
    if (world.violation === undefined && this.#hasUnknownJobs())
      world.violate('a job message was left in the queue');
    return false;
  }

  result(): SimulationResult {
    const { world, judge } = this;
    return {
      seed: world.seed,
      violation: world.violation,
      events: world.events,
      virtualMs: world.now - world.skippedMs - WORLD_START,
      faults: world.faultCounts,
      faultsInjected: world.faultsInjected,
      writes: judge.counts,
      meetings: world.meetings,
      timeline: world.timeline,
    };
  }

  #plan(job: PlannedJob): void {
    const { notBeforeMs: _, ...atOnce } = job;
    this.world.at(job.sentAfterMs, () => this.send(job));
    if (job.againAfterMs !== undefined)
      this.world.at(job.sentAfterMs + job.againAfterMs, () => this.send(atOnce));
  }

  #planTick({ jobId, body, isLate, sentAfterMs }: PlannedTick): void {
    for (const afterMs of sentAfterMs)
      this.world.at(afterMs, () => {
        this.world.note('scheduler', `sends ${jobId}${isLate ? ', too late' : ''}`);
        if (!isLate) this.judge.accept(jobId, 0);
        this.queue.send(body, 0);
      });
  }

  /** In some schedules payload and checkpoints are too large for the row. */
  #pad(): string | undefined {
    const random = seededRandom(derivedSeed(this.world.seed, 'size'));
    return random.chance(0.3) ? 'x'.repeat(900) : undefined;
  }

  send(job: PlannedJob): void {
    const notBefore = job.notBeforeMs === undefined ? undefined : this.world.now + job.notBeforeMs;
    const { jobId, key, maxAttempts, maxCrashes, leaseMs } = job;
    this.judge.limits.planned(jobId, key);
    const isDead = this.world.fault('deadLettered', 'queue');
    const terms = isDead ? {} : { maxAttempts, maxCrashes, leaseMs };
    const body = jobBody(
      'simulated',
      { of: jobId, pad: this.#pad(), poison: job.poison },
      { jobId, key, notBefore, ...terms },
    );
    this.world.note('producer', `sends ${jobId}`);
    this.judge.accept(jobId, notBefore ?? 0);
    if (isDead) this.#deadLetters.send(body);
    else (this.#pools?.anyQueue() ?? this.queue).send(body, 0);
  }

  spawnWorker(): void {
    if (this.#stopped) return;
    const worker = this.world.spawn(`w${++this.#spawned}`, (process) =>
      runWorker(process, {
        ...(this.#bug.alterWorker ?? unaltered)(this.#portsFor(process)),
        judge: this.judge,
        settings: simulatedSettings,
        bug: this.#bug,
        pools: this.#pools,
        control: this.scenario.pause && this.#controlFor(process),
      }),
    );
    // In chaos the next disturbance replaces it.
    worker.onDeath(() => this.world.at(0, () => this.world.calm && this.spawnWorker()));
  }

  #controlFor(process: Process) {
    return createControlReader({
      table: createSimulatedTable(process, this.server, []),
      clock: process.clock,
    });
  }

  /** An operator stops the type for a while, and tries again until each step is done. */
  /** An operator repeats what failed, and resumes only what has been paused. */
  #operate(name: string, act: (parts: OperatorParts) => Promise<unknown>, then?: () => void): void {
    this.world
      .spawn(`operator-${name}`, async (process) => {
        const table = createSimulatedTable(process, this.server, []);
        const queue = this.queue.seenBy(process);
        for (let done = false; !done; )
          done = await act({ table, queue, clock: process.clock, by: process.name }).then(
            () => true,
            () => false,
          );
        then?.();
      })
      .onDeath(() => this.world.at(1000, () => this.#operate(`${name}'`, act, then)));
  }

  #resume(name: string): void {
    this.#operate(name, (parts) => resumeType(parts, SIMULATED_TYPE));
  }

  #planPause({ fromMs, forMs }: NonNullable<Scenario['pause']>): void {
    const pause = (parts: OperatorParts) => pauseType(parts, SIMULATED_TYPE);
    const resumeLater = () => this.world.at(forMs, () => this.#resume('resumes'));
    this.world.at(fromMs, () => this.#operate('pauses', pause, resumeLater));
  }

  spawnReaper(firstWatchAfterMs = 0): void {
    if (this.#stopped) return;
    this.world.spawn(`reaper${++this.#spawned}`, (process) =>
      runReaper(process, {
        ...this.#reaperPorts(process),
        settings: this.#reaperSettings,
        wakeQueue: this.scenario.chain ? this.#chain.wakeQueueFor(process) : undefined,
        firstWatchAfterMs,
      }),
    );
  }

  get #reaperSettings(): Settings {
    return { ...simulatedSettings, ...this.#bug.reaperSettings };
  }

  #reaperPorts(process: Process) {
    return {
      ...(this.#bug.alterReaper ?? unaltered)(this.#portsFor(process)),
      table: createSimulatedTable(process, this.server, []),
    };
  }

  #portsFor(process: Process): Ports {
    return {
      store: this.storeFor(process),
      queue: this.#pools?.queueFor(process) ?? this.queue.seenBy(process),
    };
  }

  storeFor(process: Process) {
    return createObservedStore(process, this.server, simulatedSettings, this.#bug.alterResult);
  }

  /** Faults end, and whoever is dead is replaced: from here on all must come to its end. */
  #calmDown(): void {
    const { world } = this;
    world.calm = true;
    world.note('world', 'CALM from here on');
    // Hints may have been lost, and the wait for the reaper is longer than a schedule.
    if (this.scenario.pause !== undefined) world.at(LONGEST_PAUSE_MS, () => this.#resume('resumes again'));
    this.#deployPools();
    if (!this.#isStaffed('w')) this.spawnWorker();
    if (this.scenario.reapers > 0 && !this.#isStaffed('reaper')) this.spawnReaper();
    const look = () => {
      if (this.#stopped) return;
      if (world.inFlight === 0) this.judge.judgeTheCalm(this.server.rows, (jobId) => this.#hasMessage(jobId));
      world.at(LOOK_MS, look);
    };
    // What chaos left behind is given the time that any lapsed lease is given.
    world.at(this.judge.latestRecoveryMs, look);
  }

  /** The last deployment: whatever knows an older map is replaced, and each pool has a worker. */
  #deployPools(): void {
    if (this.#pools === undefined) return;
    for (const process of this.world.processes)
      if (process.alive && this.#pools.isStale(process)) process.die();
    this.spawnWorker();
    this.spawnWorker();
  }

  /** In a brief schedule whoever is left is enough; a full one gets somebody new who knows of nothing. */
  #isStaffed(prefix: string): boolean {
    return (
      (this.scenario.size === 'brief' || this.scenario.size === 'limited') &&
      this.world.processes.some(({ alive, leaving, name }) => alive && !leaving && name.startsWith(prefix))
    );
  }

  #hasMessage(jobId: string): boolean {
    return this.#holds((body) => this.#jobIn(body) === jobId);
  }

  #isOver(): boolean {
    const { world, judge } = this;
    return (
      world.calm &&
      world.inFlight === 0 &&
      judge.allEnded(this.server.rows) &&
      !world.processes.some(({ alive, name }) => alive && name.startsWith('operator')) &&
      !this.#hasUnknownJobs()
    );
  }

  /** Job messages whose job has no row yet: only the queue knows of it. */
  #hasUnknownJobs(): boolean {
    return this.#holds((body) => {
      const jobId = this.#jobIn(body);
      return jobId !== undefined && !this.server.rows.has(jobId);
    });
  }

  #holds(test: (body: string) => boolean): boolean {
    return this.#queues.some((queue) => queue.holds(test)) || this.#deadLetters.holds(test);
  }

  #jobIn(body: string): string | undefined {
    let jobId = this.#jobIds.get(body);
    if (jobId === undefined) {
      jobId = this.#readJobId(body) ?? '';
      this.#jobIds.set(body, jobId);
    }
    return jobId === '' ? undefined : jobId;
  }

  #readJobId(body: string): string | undefined {
    const parsed = parseMessage(body, messageLimits(simulatedSettings), { sentAt: 0, now: this.world.now });
    return parsed.ok && parsed.message.kind === 'job' ? parsed.message.jobId : undefined;
  }
}

/** Runs a schedule for each seed. `onResult` returns true to stop early. */
export async function simulateMany(
  seeds: Iterable<number>,
  options: Omit<SimulationOptions, 'seed'>,
  onResult: (result: SimulationResult) => boolean | undefined,
): Promise<void> {
  for (const seed of seeds) if (onResult(await simulate({ seed, ...options })) === true) return;
}

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  // Between two schedules whoever else lives on this event loop has its turn.
  await new Promise<void>((resolve) => setImmediate(resolve));
  const simulation = new Simulation(options);
  await withoutStacks(() =>
    settledBetween(() => {
      // What resumes no code leaves nothing to settle.
      for (;;) {
        if (!simulation.step()) return false;
        if (simulation.world.hasResumed) return true;
      }
    }),
  );
  return simulation.result();
}

let withoutThem = 0;
let usualLimit = Error.stackTraceLimit;

/** Every abort makes an exception, which takes a tenth of the time without its stack. And rows keep stacks: a seed's must not depend on who runs it. */
async function withoutStacks(run: () => Promise<void>): Promise<void> {
  if (withoutThem === 0) usualLimit = Error.stackTraceLimit;
  withoutThem += 1;
  Error.stackTraceLimit = 0;
  try {
    await run();
  } finally {
    withoutThem -= 1;
    if (withoutThem === 0) Error.stackTraceLimit = usualLimit;
  }
}

const RESOLVED = Promise.resolve();

/**
 * Calls `act` again and again until it returns false, and lets all code that it resumed come to its next await in between. A
 * tick that is asked for by one continuation comes when all others have run, however many led to more: it settles the world as a
 * turn of the event loop would, for a tenth of the cost.
 */
function settledBetween(act: () => boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const turn = () => {
    try {
      if (act()) void RESOLVED.then(askForTick);
      else resolve();
    } catch (error) {
      reject(error);
    }
  };
  const askForTick = () => process.nextTick(turn);
  void RESOLVED.then(askForTick);
  return promise;
}
