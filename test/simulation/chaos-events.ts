import { hintDelaySecondsOf } from '../../lib/protocol/decisions/dispatch.ts';
import { DATA_SPARE_MS, dataKeys, pointersOf } from '../../lib/protocol/rows/data-pointer.ts';
import { messageLimits } from '../../lib/settings/message-limits.ts';
import { parseMessage } from '../../lib/wire/message.ts';
import { simulatedSettings } from './scenario.ts';
import type { Simulation } from './simulate.ts';
import type { Process } from './world.ts';

const DAY = 86_400_000;

/** Lets processes die, pause and lose touch, operators interfere and the queue forget, until calm sets in. */
export function plantChaos(simulation: Simulation): void {
  const { world, scenario } = simulation;
  const everyMs = world.pace.disturbedEveryMs;
  // A brief schedule must not wait for its first disturbance until it is nearly over.
  for (let at = scenario.size === 'full' ? everyMs : 0; at < scenario.chaosMs; at += everyMs)
    world.at(at + world.random.integer(0, everyMs), () => disturb(simulation));
}

function disturb(simulation: Simulation): void {
  const { world } = simulation;
  if (world.calm) return;
  const alive = world.processes.filter((process) => process.alive && !process.stopping.aborted);
  const [first, ...others] = alive.filter((process) => !isCell(process));
  if (first !== undefined) disturbProcess(simulation, world.random.pick([first, ...others]));
  const [cell, ...cells] = alive.filter(isCell);
  if (cell !== undefined) disturbCell(simulation, world.random.pick([cell, ...cells]));
  replaceTheDead(simulation);
  if (world.fault('queuePurged', 'queue')) simulation.queue.purge((body) => hasRow(simulation, body));
  operate(simulation);
  ageData(simulation);
}

/** Less than data outlives whoever wrote it. */
const LONGEST_SKIP_MS = simulatedSettings.rowRetentionMs + DATA_SPARE_MS - 5 * DAY;

function ageData(simulation: Simulation): void {
  const { world, judge, server, scenario } = simulation;
  const pointed = scenario.jobs.flatMap(({ jobId }) =>
    pointersOf(server.rows.get(jobId) ?? {}).map(([, pointer]) => ({ jobId, pointer })),
  );
  const [first, ...others] = pointed;
  if (first !== undefined && world.fault('dataVanishes', 'table')) {
    const { jobId, pointer } = world.random.pick([first, ...others]);
    judge.dataVanished(jobId);
    for (const key of dataKeys(jobId, pointer)) server.delete(key);
  }
  // Requests do not travel for weeks.
  if (world.skippedMs > 0 || world.inFlight > 0 || !world.fault('weeksPass')) return;
  for (const process of world.processes) if (process.alive) process.die();
  world.skip(world.random.integer(DAY, LONGEST_SKIP_MS));
  server.expireData();
  for (let n = 0; n < scenario.workers; n++) simulation.spawnWorker();
  for (let n = 0; n < scenario.reapers; n++) simulation.spawnReaper();
}

function disturbProcess(simulation: Simulation, process: Process): void {
  const { world } = simulation;
  const { random } = world;
  const { pauseMs, partitionMs } = world.pace;
  const { name } = process;
  const pause = (monotonicStops: boolean, alone = false) => {
    const ms = random.integer(1000, pauseMs);
    process.pause(ms, monotonicStops);
    if (!alone) for (const cell of cellsOf(simulation, process)) cell.pause(ms, false);
  };
  if (world.fault('dies', name)) process.die();
  else if (world.fault('pauses', name)) pause(false);
  else if (world.fault('suspends', name)) pause(true);
  else if (world.fault('hostPausesAlone', name)) pause(false, true);
  if (world.fault('clockStepped', name)) {
    process.offsetMs = world.newOffset(random);
    world.note(name, `clock stepped, now off by ${process.offsetMs} ms`);
  }
  if (world.fault('partitioned', name))
    process.partitionedUntil = world.now + random.integer(1000, partitionMs);
  if (world.fault('shutDown', name)) process.stop();
}

const isCell = ({ machine, name }: Process) => machine.name !== name;
const cellsOf = ({ world }: Simulation, host: Process) =>
  world.processes.filter((process) => isCell(process) && process.alive && process.machine === host);

/** What befalls a cell alone: its host lives, and is to see to it. */
function disturbCell({ world, judge }: Simulation, cell: Process): void {
  if (world.fault('cellDies', cell.name)) cell.die();
  else if (world.fault('cellStalls', cell.name)) {
    const ms = world.random.integer(100, world.pace.stallMs);
    judge.cells.stalled(cell, ms);
    cell.pause(ms, false);
  }
}

function replaceTheDead(simulation: Simulation): void {
  const { world, scenario } = simulation;
  const living = (prefix: string) =>
    world.processes.filter((p) => p.alive && !p.stopping.aborted && p.name.startsWith(prefix)).length;
  const after = () => world.random.integer(0, world.pace.absenceMs);
  if (living('w') < scenario.workers) world.at(after(), () => simulation.spawnWorker());
  const inProcesses = living('reaper') - living('reaper-');
  if (inProcesses < scenario.reapers) world.at(after(), () => simulation.spawnReaper());
}

/** A purge can only lose what the table knows of: a job without a row is kept by SQS alone. */
function hasRow(simulation: Simulation, body: string): boolean {
  const parsed = parseMessage(body, messageLimits(simulatedSettings), {
    sentAt: 0,
    now: simulation.world.now,
  });
  return parsed.ok && simulation.server.rows.has(parsed.message.jobId ?? '');
}

function operate(simulation: Simulation): void {
  const { world, judge, server } = simulation;
  const [first, ...others] = simulation.scenario.jobs;
  if (first === undefined) return;
  const job = world.random.pick([first, ...others]);
  const { jobId } = job;
  const cancels = world.fault('operatorCancels', 'operator');
  const revives = world.fault('operatorRevives', 'operator');
  const takesBack = world.fault('operatorTakesBack', 'operator');
  if (cancels || revives || takesBack)
    world.spawn(`operator${world.events}`, async (process) => {
      const store = simulation.storeFor(process);
      const queue = simulation.queue.seenBy(process);
      try {
        if (cancels) {
          const answered = judge.cancelIsWanted(jobId);
          await store.cancel(jobId);
          answered();
        }
        const moved = revives
          ? await store.revive(jobId)
          : takesBack
            ? await store.takeBack(jobId)
            : undefined;
        if (moved?.outcome === 'written' && moved.job.status === 'pending')
          await queue.sendHints([
            {
              ...{ jobId, type: moved.job.type },
              delaySeconds: hintDelaySecondsOf(moved.job, process.clock.now()),
            },
          ]);
      } catch {
        // The operator is told, and may ask again.
      }
    });
  const status = server.rows.get(jobId)?.status;
  if ((status === 'done' || status === 'failed') && world.fault('rowDeleted', 'operator')) {
    judge.forget(jobId);
    server.delete(jobId);
    simulation.send(job);
    // An older message for the same id may still be under way, and it may have wanted the job at once.
    judge.accept(jobId, 0);
  }
}
