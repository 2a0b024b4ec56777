import type { ControlReader } from '../../lib/protocol/limits/control.ts';
import type { JobQueue, JobStore, ReceivedMessage } from '../../lib/protocol/ports.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import type { Cells } from '../../lib/worker/cells/cells.ts';
import { createNoCells } from '../../lib/worker/cells/no-cells.ts';
import { createBatchRunner } from '../../lib/worker/hosts/lambda-batch.ts';
import { startWorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { trustTheClock } from '../../lib/worker/intake/clock-check.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { createCrashThrottle } from '../../lib/worker/run/crash-throttle.ts';
import { createHeartLoop } from '../../lib/worker/run/heart-loop.ts';
import type { WorkerParts } from '../../lib/worker/worker-parts.ts';
import { silentEvents, silentTelemetry } from '../support/silent-ports.ts';
import type { Judge } from './judge.ts';
import type { PlantedBug } from './planted-bug.ts';
import { createSimulatedCells } from './simulated-cells.ts';
import { simulatedJob } from './simulated-handler.ts';
import type { SimulatedPools } from './simulated-pools.ts';
import type { Process } from './world.ts';

export interface SimulatedWorkerParts {
  readonly store: JobStore;
  readonly queue: JobQueue;
  readonly judge: Judge;
  readonly settings: Settings;
  readonly bug: PlantedBug;
  readonly pools?: SimulatedPools;
  readonly control?: ControlReader;
}

const POLL_SECONDS = 20;

/** How many workers have cells. One job alone shows little of them, and more of what a worker without them suffers. */
const SHARE_OF_CELLS = { full: 0.5, brief: 0.2, crowd: 1, limited: 0.3 } as const;

/** The real worker engine in one of its two hosts, with cells or without. */
export async function runWorker(process: Process, given: SimulatedWorkerParts): Promise<void> {
  const { store, queue, settings, judge, bug } = given;
  const { clock, random, name, world } = process;
  const clockCheck = trustTheClock;
  const heart = createHeartLoop({ clock, random, store, clockCheck, onFailure: () => {} });
  const isProcess = process.random.chance(0.5) || world.size === 'crowd';
  const concurrency = isProcess ? settings.processConcurrency : settings.batchConcurrency;
  const hasCells = process.random.chance(SHARE_OF_CELLS[world.size]);
  const crashThrottle = createCrashThrottle(clock, silentTelemetry);
  const nearby = () => {
    const cells = cellsNearby(process, given);
    return judge.cells.watchCells(process, bug.alterCells?.(cells, process) ?? cells);
  };
  const whole: WorkerParts = {
    cells: hasCells ? createSimulatedCells(process, { settings, judge, bug, concurrency }) : nearby(),
    crashThrottle: judge.cells.watchCrashThrottle(
      process,
      bug.alterCrashThrottle?.(crashThrottle) ?? crashThrottle,
    ),
    ...{ settings, clock, random, queue },
    store: judge.limits.watch(judge.cells.watchClaims(process, store)),
    control: given.control,
    ...{ telemetry: silentTelemetry, events: silentEvents, clockCheck },
    heart: bug.alterHeart?.(heart, process) ?? heart,
    worker: name,
  };
  const parts = given.pools?.confine(process, whole) ?? whole;
  const canStart = await parts.cells.ready().then(
    () => true,
    () => false,
  );
  // No cell could be started: the worker ends, and whoever looks after it starts another.
  if (!canStart) return process.die();
  if (isProcess) await runInProcess(process, parts);
  else await runOnLambda(process, parts);
}

/** `isolation: 'none'`. */
function cellsNearby(process: Process, { settings, judge }: SimulatedWorkerParts): Cells {
  const registry = createRegistry([simulatedJob(process, judge)]);
  return createNoCells({
    ...{ registry, settings },
    ...{ clock: process.clock, telemetry: silentTelemetry },
  });
}

async function runInProcess(process: Process, parts: WorkerParts): Promise<void> {
  process.world.note(process.name, 'is a process');
  const host = startWorkerProcess({ parts, signals: false });
  process.stopping.addEventListener('abort', () => void host.stop());
  await host.stopped;
}

/** One environment of a function with an SQS trigger: what it does not name as failed is deleted for it. */
async function runOnLambda(process: Process, parts: WorkerParts): Promise<void> {
  process.world.note(process.name, 'is a Lambda');
  const runBatch = createBatchRunner(parts);
  while (!process.stopping.aborted) {
    const messages = await parts.queue.receive({ max: parts.settings.batchSize, waitSeconds: POLL_SECONDS });
    if (messages.length === 0) continue;
    const failed = await invoke(process, parts, runBatch, messages);
    const settled = messages.filter(({ messageId }) => !failed.has(messageId));
    await parts.queue.delete(settled);
  }
  await parts.cells.close();
}

async function invoke(
  { clock }: Process,
  { settings }: WorkerParts,
  runBatch: ReturnType<typeof createBatchRunner>,
  messages: readonly ReceivedMessage[],
): Promise<ReadonlySet<string>> {
  const endsAt = clock.monotonic() + settings.functionTimeoutMs;
  const remaining = await runBatch(messages, () => endsAt - clock.monotonic());
  return new Set(remaining.map(({ messageId }) => messageId));
}
