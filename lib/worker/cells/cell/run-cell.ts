import { writeFileSync } from 'node:fs';
// Handlers may replace the global ones.
import { clearInterval, setImmediate, setInterval } from 'node:timers';
import { systemClock } from '../../../aws/clock.ts';
import { cutToBytes } from '../../../protocol/rows/json-text.ts';
import type { JobOptions } from '../../define-job.ts';
import type { Registry } from '../../registry.ts';
import type { CellOrders } from '../cell-orders.ts';
import { describeError } from '../describe-error.ts';
import { writeFatalReport } from '../fatal-report.ts';
import { type CellSlate, openSlate, SLATE_DESCRIPTOR } from '../slate.ts';
import { thrownBy } from '../thrown.ts';
import { type CellChannel, takeChannel } from './cell-channel.ts';
import { createCellLog, currentJob, redirectConsole } from './output.ts';
import { MAX_ERROR_BYTES, type Pulse, serveHost } from './serve-host.ts';

/** The kernel ends a cell before its host. */
const FIRST_TO_GO = '1000';

/** Turns this process into a cell: it runs handlers for the host that started it, and nothing else. */
export function runCell(
  orders: CellOrders,
  load: () => Promise<Registry>,
  onReady: () => void = () => {},
): void {
  const slate = openSlate(SLATE_DESCRIPTOR);
  const log = createCellLog({
    serviceName: orders.serviceName,
    environment: process.env,
    isTerminal: process.stdout.isTTY === true,
    now: () => systemClock.now(),
  });
  const channel = takeChannel({
    hear: (message) => hear(message),
    // Read only by a host that is there: then it was somebody here who closed the channel.
    onClosed: () => slate.lastWords(JSON.stringify({ origin: 'disconnect' })),
  });
  let registry: Registry | undefined;
  const hear = serveHost({
    ...{ orders, slate, channel, log, clock: systemClock, pulse: createPulse(slate) },
    registry: () => registry,
  });

  prepareProcess(slate, channel);
  redirectConsole(log);
  load().then(
    (loaded) => {
      registry = loaded;
      channel.say({ kind: 'ready', types: loaded.definitions.map(optionsOf) });
      channel.flush();
      onReady();
    },
    (error: unknown) => {
      channel.say({ kind: 'unloadable', text: cutToBytes(textOf(error), MAX_ERROR_BYTES) });
      channel.flush();
      process.exit(UNLOADABLE);
    },
  );
}

/** The exit code of a cell whose jobs module could not be loaded. */
const UNLOADABLE = 78;

/** Unreferenced: it keeps no process alive. */
function createPulse(slate: CellSlate): Pulse {
  let busy = 0;
  let everyMs = 0;
  let timer: NodeJS.Timeout | undefined;
  /** Ends with the first beat that nobody needs, not with each run: short ones come by the thousand. */
  const beat = () => {
    if (busy > 0) return slate.pulse();
    clearInterval(timer);
    timer = undefined;
  };
  return {
    begin(pulseMs: number) {
      busy += 1;
      if (timer !== undefined && pulseMs >= everyMs) return;
      everyMs = pulseMs;
      clearInterval(timer);
      slate.pulse();
      timer = setInterval(beat, everyMs);
      timer.unref();
    },
    end() {
      busy -= 1;
    },
  };
}

function prepareProcess(slate: CellSlate, channel: CellChannel): void {
  // Sent to the host, which asks its cells in its own way.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  let survived: string | undefined;
  process.on('uncaughtExceptionMonitor', (thrown, origin) => {
    const error = cutToBytes(describeError(thrown), MAX_ERROR_BYTES / 4);
    slate.lastWords(JSON.stringify({ origin, error, jobId: currentJob.getStore()?.jobId }));
    channel.flush();
    // Only where somebody listens for such exceptions: then the process goes on, and what ends it later is something else.
    setImmediate(() => {
      survived = error;
      slate.takeBackWords();
    });
  });
  const { abort } = process;
  process.abort = () => {
    slate.lastWords(JSON.stringify({ origin: 'abort' }));
    return abort();
  };
  process.on('exit', (code) => slate.lastWords(JSON.stringify({ origin: 'exit', code, survived })));
  writeFatalReport();
  try {
    writeFileSync('/proc/self/oom_score_adj', FIRST_TO_GO);
  } catch {
    // Not Linux, or not allowed: then the kernel chooses by size alone.
  }
}

const optionsOf = ({
  type,
  lease,
  maxAttempts,
  maxCrashes,
  backoff,
  maxRunMs,
  progressTimeoutMs,
  maxStallMs,
}: { readonly type: string } & JobOptions) => ({
  ...{ type, lease, maxAttempts, maxCrashes, backoff, maxRunMs, progressTimeoutMs, maxStallMs },
});

const textOf = (error: unknown): string =>
  error instanceof Error && error.name === 'JobsModuleError' ? error.message : thrownBy(error).text;
