import type { Settings } from '../../lib/settings/settings.ts';
import { serveHost } from '../../lib/worker/cells/cell/serve-host.ts';
import type { CellOrders } from '../../lib/worker/cells/cell-orders.ts';
import type { Cells } from '../../lib/worker/cells/cells.ts';
import type { FromCell, ToCell } from '../../lib/worker/cells/channel.ts';
import type { CellExit } from '../../lib/worker/cells/host/cause-of-death.ts';
import type { Timers } from '../../lib/worker/cells/host/cell-pool.ts';
import { type CellPoolOptions, createCellPool } from '../../lib/worker/cells/host/cell-pool.ts';
import type { CellProcess } from '../../lib/worker/cells/host/cell-process.ts';
import { createSharedMemory } from '../../lib/worker/cells/shared-memory.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { heapBytes } from '../support/heap-bytes.ts';
import { silentTelemetry } from '../support/silent-ports.ts';
import type { Judge } from './judge.ts';
import type { PlantedBug } from './planted-bug.ts';
import { simulatedJob } from './simulated-handler.ts';
import type { Process } from './world.ts';

export interface SimulatedCellsParts {
  readonly settings: Settings;
  readonly judge: Judge;
  readonly bug: PlantedBug;
  /** How many jobs run at once. */
  readonly concurrency: number;
}

/** How long a cell takes to start, to be heard, and to be found dead. */
const START_MS = 80;
const CHANNEL_MS = 5;
const NOTICE_MS = 10;
/** A dead cell's channel is empty after this time, unless what it said is late. */
const DRAIN_MS = 60;
const LATE_WORDS_MS = 1500;
/** SIGKILL takes a moment; a process that is stuck in the kernel takes longer. */
const KILL_MS = 20;
const SLOW_KILL_MS = 4000;
/** The guard, or the end of their channel, ends the cells of a dead host. */
const ORPHANED_MS = 300;
const PLENTY = 2 ** 40;

/** The real pool over simulated processes, each of which runs the real code of a cell. */
export function createSimulatedCells(host: Process, parts: SimulatedCellsParts): Cells {
  const { settings, bug } = parts;
  const launch: CellPoolOptions['launch'] = (orders) => launchCell(host, parts, orders);
  const timers = timersOf(host);
  const count = 1 + Number(host.random.chance(0.5));
  const pool = createCellPool({
    ...{ clock: host.clock, telemetry: silentTelemetry, settings, serviceName: 'simulation' },
    ...{ launch: bug.alterLauncher?.(launch, host) ?? launch, source: 'simulation' },
    timers: bug.alterTimers?.(timers, host) ?? timers,
    ...{ cells: count, processors: count, concurrency: parts.concurrency },
    ...{ memoryBytes: PLENTY, memoryForCells: () => PLENTY },
  });
  return parts.judge.cells.watchCells(host, bug.alterCells?.(pool, host) ?? pool);
}

/** As Node's: what should have run while the host was paused runs once, when it wakes. */
const timersOf = (host: Process): Timers => ({
  every(ms, run) {
    let isOn = true;
    const next = () =>
      host.tick(ms, () => {
        if (!isOn) return;
        run();
        next();
      });
    next();
    return () => {
      isOn = false;
    };
  },
  defer: (run) => host.tick(0, run),
});

function launchCell(host: Process, { judge, bug }: SimulatedCellsParts, orders: CellOrders): CellProcess {
  const { world } = host;
  const { random } = host;
  const heard: ((messages: unknown) => void)[] = [];
  const exits: ((ending: CellExit) => void)[] = [];
  const disconnected = Promise.withResolvers<void>();
  let onMessage: (message: ToCell) => void = () => {};
  let unsaid: FromCell[] = [];
  /** When the last of what the cell has said so far is heard: a channel keeps the order. */
  let heardAt = 0;

  const cell = world.spawn(
    `cell${world.processes.length}`,
    async (process) => {
      await process.clock.sleep(random.integer(START_MS / 2, START_MS));
      if (world.fault('cellStartFails', process.name)) return process.die();
      const registry = createRegistry([simulatedJob(process, judge)]);
      ({ onMessage } = serveHost({
        ...{
          orders,
          clock: process.clock,
          log: silentTelemetry,
          probe: { beat() {}, fault: () => undefined },
        },
        shared: bug.alterShared?.(createSharedMemory(bytes)) ?? createSharedMemory(bytes),
        registry,
        channel: { send, flush },
      }));
      send({ kind: 'ready', types: registry.definitions.map(({ type, limit }) => ({ type, limit })) });
      await new Promise<never>(() => {});
    },
    host,
  );
  const bytes = heapBytes();
  /** Rises whenever it is looked at while the cell's code could run. */
  let pulse = 0;
  const nextPulse = () => {
    if (cell.isAwake) pulse += 1;
    return pulse;
  };

  const flush = () => {
    const said = unsaid;
    unsaid = [];
    if (said.length === 0 || !cell.alive) return;
    const longestMs = world.fault('cellHeardLate', cell.name) ? LATE_WORDS_MS : CHANNEL_MS;
    heardAt = Math.max(heardAt, world.now + random.integer(1, longestMs));
    host.tick(heardAt - world.now, () => {
      for (const listener of heard) listener(said);
    });
  };
  const send = (message: FromCell) => {
    unsaid.push(message);
    if (unsaid.length === 1) cell.tick(0, flush);
  };
  cell.onDeath(() => {
    judge.cells.died(cell);
    host.tick(random.integer(1, NOTICE_MS), () => {
      for (const listener of exits) listener({ code: null, signal: 'SIGKILL' });
    });
    host.tick(Math.max(heardAt - world.now, random.integer(NOTICE_MS, DRAIN_MS)), disconnected.resolve);
  });
  host.onDeath(() => world.at(random.integer(0, ORPHANED_MS), () => cell.die()));

  return {
    pid: undefined,
    shared: Object.assign(createSharedMemory(bytes), { pulse: nextPulse }),
    exitReport: () => undefined,
    send(messages) {
      judge.cells.sent(cell, messages);
      cell.tick(random.integer(1, CHANNEL_MS), () => {
        for (const message of messages) {
          if (message.kind === 'run') judge.cells.entered(cell, message.job);
          onMessage(message);
        }
      });
    },
    end() {
      const slow = world.fault('killIsSlow', cell.name) ? SLOW_KILL_MS : KILL_MS;
      if (cell.alive) world.at(random.integer(1, slow), () => cell.die());
    },
    memory: () => undefined,
    onMessage: (listener) => void heard.push(listener),
    onExit: (listener) => void exits.push(listener),
    disconnected: disconnected.promise,
    forget() {},
  };
}
