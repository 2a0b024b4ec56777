import { writeFileSync } from 'node:fs';
// Handlers may replace the global ones.
import { setImmediate, setInterval } from 'node:timers';
import { systemClock } from '../../../aws/clock.ts';
import { cutToBytes } from '../../../protocol/rows/json-text.ts';
import type { JobDefinition } from '../../define-job.ts';
import { describeError } from '../../describe-error.ts';
import type { Registry } from '../../registry.ts';
import { MAX_ERROR_BYTES, thrownBy } from '../../thrown.ts';
import type { CellOrders } from '../cell-orders.ts';
import { createExitReporter, type ExitReporter, reportFatalErrors } from '../exit-report.ts';
import { createSharedMemory, fileBytes, SHARED_DESCRIPTOR } from '../shared-memory.ts';
import { type CellChannel, takeChannel } from './cell-channel.ts';
import { createCellLog, currentJob, redirectConsole } from './output.ts';
import { createProbe } from './probe.ts';
import { serveHost } from './serve-host.ts';

/** Makes the kernel kill a cell before its host. */
const FIRST_TO_GO = '1000';

export function runCell(
  orders: CellOrders,
  load: () => Promise<Registry>,
  onReady: () => void = () => {},
): void {
  const probe = createProbe();
  const shared = createSharedMemory(fileBytes(SHARED_DESCRIPTOR));
  const exitReporter = createExitReporter();
  const log = createCellLog({
    serviceName: orders.serviceName,
    // Lambda's level wins, as in the host.
    level: process.env.AWS_LAMBDA_LOG_LEVEL ?? orders.logLevel,
    isTerminal: process.stdout.isTTY === true,
    now: () => systemClock.now(),
  });
  const channel = takeChannel({
    onMessage: (message) => served?.onMessage(message),
    // Only a living host reads this, and then code in this cell closed the channel.
    onClosed: () => exitReporter.write({ origin: 'disconnect' }),
  });
  let served: ReturnType<typeof serveHost> | undefined;

  prepareProcess(exitReporter, channel);
  let pulse = 0;
  // Unreferenced, so that it keeps no process alive.
  setInterval(() => {
    shared.beat(++pulse);
    channel.listen();
    served?.look();
  }, orders.pulseMs).unref();
  redirectConsole(log);
  load().then(
    (registry) => {
      served = serveHost({ orders, registry, shared, channel, log, clock: systemClock, probe });
      channel.send({ kind: 'ready', types: registry.definitions.map(optionsOf) });
      channel.flush();
      onReady();
    },
    (error: unknown) => {
      exitReporter.write({ origin: 'load', error: cutToBytes(textOf(error), MAX_ERROR_BYTES / 4) });
      process.exit(UNLOADABLE);
    },
  );
}

const UNLOADABLE = 78;

function prepareProcess(exitReporter: ExitReporter, channel: CellChannel): void {
  // The host stops its cells itself.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // Without a listener, a handler that prints would fail once the log reader is gone.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  let survived: string | undefined;
  process.on('uncaughtExceptionMonitor', (thrown, origin) => {
    const error = cutToBytes(describeError(thrown), MAX_ERROR_BYTES / 4);
    exitReporter.write({ origin, error, jobId: currentJob.getStore()?.jobId });
    channel.flush();
    // If a listener survives the exception, something else ends the process later.
    setImmediate(() => {
      survived = error;
      exitReporter.clear();
    });
  });
  const { abort } = process;
  process.abort = () => {
    exitReporter.write({ origin: 'abort' });
    return abort();
  };
  process.on('exit', (code) => exitReporter.write({ origin: 'exit', code, survived }));
  reportFatalErrors();
  try {
    writeFileSync('/proc/self/oom_score_adj', FIRST_TO_GO);
  } catch {
    // Only on Linux, and only if allowed.
  }
}

const optionsOf = ({ run: _, payload: _payload, checkpoint: _checkpoint, ...options }: JobDefinition) => ({
  ...options,
  backoff: typeof options.backoff === 'function' ? undefined : options.backoff,
});

const textOf = (error: unknown): string =>
  error instanceof Error && error.name === 'JobsModuleError' && 'problem' in error
    ? String(error.problem)
    : thrownBy(error).text;
