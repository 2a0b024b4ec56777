import { AsyncLocalStorage } from 'node:async_hooks';
import { writeSync } from 'node:fs';
import { format } from 'node:util';
import type { Telemetry } from '../../../protocol/ports.ts';
import type { Settings } from '../../../settings/settings.ts';
import { loggableError, readOr } from '../../describe-error.ts';
import type { Origin } from '../cells.ts';
import type { JobData } from '../channel.ts';

// Handlers may replace the globals.
const { stringify } = JSON;
const SystemDate = Date;

/** For log lines only: the job whose code runs now, as far as Node knows. */
export const currentJob = new AsyncLocalStorage<Origin & Pick<JobData, 'jobId' | 'type' | 'attempt'>>();

const STDOUT = 1;
const STDERR = 2;
const WAIT_MS = 5;
const MOST_WAITS = 400;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Synchronous whole lines survive a crash and never mix with other cells' lines. */
function writeLine(descriptor: number, line: string): void {
  let rest = Buffer.from(`${line}\n`);
  for (let waits = 0; rest.length > 0 && waits < MOST_WAITS; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      // EAGAIN means a slow reader; other failures cannot be reported.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      waits += 1;
      Atomics.wait(sleeper, 0, 0, WAIT_MS);
    }
  }
}

/** Lambda's levels; an unknown one logs everything. */
const LEVELS: readonly string[] = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];
type Level = Settings['logLevel'];

/** Log lines in the host's format, each with its job. */
export function createCellLog(options: {
  readonly serviceName: string;
  readonly level: string;
  readonly isTerminal: boolean;
  readonly now: () => number;
  /** @default - synchronously to the descriptor */
  readonly write?: (descriptor: number, line: string) => void;
}): Pick<Telemetry, 'info' | 'warn' | 'error'> & { console(level: Level, args: readonly unknown[]): void } {
  const { serviceName, level: lowest, isTerminal, now, write: writeTo = writeLine } = options;

  const write = (level: Level, message: string, fields: Readonly<Record<string, unknown>> = {}) => {
    const { requestId, traceId: _, ...job } = currentJob.getStore() ?? {};
    const line = {
      level,
      message,
      timestamp: new SystemDate(now()).toISOString(),
      service: serviceName,
      function_request_id: requestId,
      ...job,
      ...fields,
    };
    writeTo(STDOUT, jsonLine(line) ?? jsonLine({ level, message }) ?? textOf([message]));
  };

  const log: typeof write = (level, message, fields) => {
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(lowest)) write(level, message, fields);
  };

  return {
    info: (message, fields) => log('INFO', message, fields),
    warn: (message, fields) => log('WARN', message, fields),
    error: (message, error, fields) => log('ERROR', message, { ...fields, error: errorFields(error) }),
    console(level, args) {
      const text = textOf(args);
      const job = currentJob.getStore();
      if (job !== undefined && !isTerminal) return write(level, text);
      const name = job === undefined ? '' : `[${job.jobId} #${job.attempt}] `;
      writeTo(level === 'ERROR' || level === 'WARN' ? STDERR : STDOUT, `${name}${text}`);
    },
  };
}

export function redirectConsole(log: ReturnType<typeof createCellLog>, target: Console = console): void {
  const levels = {
    log: 'INFO',
    info: 'INFO',
    debug: 'DEBUG',
    warn: 'WARN',
    error: 'ERROR',
    trace: 'ERROR',
  } as const;
  for (const [method, level] of Object.entries(levels))
    target[method as keyof typeof levels] = (...args: unknown[]) => log.console(level, args);
}

function errorFields(error: unknown) {
  try {
    if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
    const { name, message, stack } = error;
    return { name, message, stack };
  } catch {
    return { name: 'Error', message: loggableError(error) };
  }
}

function textOf(args: readonly unknown[]): string {
  try {
    return format(...args);
  } catch (error) {
    return `(unreadable: ${loggableError(error)})`;
  }
}

const jsonLine = (value: unknown): string | undefined =>
  readOr(undefined, () => stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each)));
