import type { JobQueue, JobStore, ReceivedMessage } from '../../lib/protocol/ports.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { createNoCells } from '../../lib/worker/cells/no-cells.ts';
import { createBatchRunner } from '../../lib/worker/hosts/lambda-batch.ts';
import { startWorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { trustTheClock } from '../../lib/worker/intake/clock-check.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { createBrake } from '../../lib/worker/run/brake.ts';
import type { Heart } from '../../lib/worker/run/heart.ts';
import { createHeartLoop } from '../../lib/worker/run/heart-loop.ts';
import type { WorkerParts } from '../../lib/worker/worker-parts.ts';
import { silentEvents, silentTelemetry } from '../support/silent-ports.ts';
import type { Judge } from './judge.ts';
import { simulatedJob } from './simulated-handler.ts';
import type { Process } from './world.ts';

export interface SimulatedWorkerParts {
  readonly store: JobStore;
  readonly queue: JobQueue;
  readonly judge: Judge;
  readonly settings: Settings;
  /** Lets a planted bug into the heart. */
  readonly alterHeart: (heart: Heart, process: Process) => Heart;
}

const POLL_SECONDS = 20;

/** The real worker engine, its heart in the same thread, in one of its two hosts. */
export async function runWorker(process: Process, given: SimulatedWorkerParts): Promise<void> {
  const { store, queue, settings, judge, alterHeart } = given;
  const { clock, chance, name } = process;
  const registry = createRegistry([simulatedJob(process, judge)]);
  const heart = createHeartLoop({ clock, chance, store, onFailure: () => {} });
  const parts: WorkerParts = {
    cells: createNoCells({
      load: async () => registry,
      known: registry,
      settings,
      clock,
      telemetry: silentTelemetry,
    }),
    brake: createBrake(clock, silentTelemetry),
    ...{ settings, clock, chance, store, queue },
    ...{ telemetry: silentTelemetry, events: silentEvents, clockCheck: trustTheClock },
    heart: alterHeart(heart, process),
    worker: name,
  };
  if (process.random.chance(0.5)) await runInProcess(process, parts);
  else await runOnLambda(process, parts);
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
}

async function invoke(
  { clock }: Process,
  { settings }: WorkerParts,
  runBatch: ReturnType<typeof createBatchRunner>,
  messages: readonly ReceivedMessage[],
): Promise<ReadonlySet<string>> {
  const endsAt = clock.monotonic() + settings.functionTimeoutMs;
  const { batchItemFailures } = await runBatch(messages, () => endsAt - clock.monotonic());
  return new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
}
