import { AsyncLocalStorage } from 'node:async_hooks';
import { writeSync } from 'node:fs';
import { format } from 'node:util';
import type { Telemetry } from '../../../protocol/ports.ts';
import type { Origin } from '../cells.ts';
import { loggableError } from '../describe-error.ts';

/** The job in whose handler the code of the moment runs, as far as Node can tell. It names log lines, and convicts nobody. */
export interface CurrentJob extends Origin {
  readonly jobId: string;
  readonly type: string;
  readonly attempt: number;
}

export const currentJob = new AsyncLocalStorage<CurrentJob>();

const STDOUT = 1;
const STDERR = 2;
const WAIT_MS = 5;
const MOST_WAITS = 400;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Writes a whole line at once, and before the process can die: two cells' lines never mix. */
function writeLine(descriptor: number, line: string): void {
  let rest = Buffer.from(`${line}\n`);
  for (let waits = 0; rest.length > 0 && waits < MOST_WAITS; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      // A pipe whose reader is slow; any other failure leaves nobody to tell.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      waits += 1;
      Atomics.wait(sleeper, 0, 0, WAIT_MS);
    }
  }
}

const LEVELS = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const;
type Level = (typeof LEVELS)[number];

/** Structured lines as the host's own logger writes them, each with the job of the moment. */
export function createCellLog(options: {
  readonly serviceName: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
  readonly now: () => number;
  /** Where a line goes. @default - to the descriptor, at once */
  readonly write?: (descriptor: number, line: string) => void;
}): Pick<Telemetry, 'info' | 'warn' | 'error'> & { console(level: Level, args: readonly unknown[]): void } {
  const { serviceName, environment, isTerminal, now, write: writeTo = writeLine } = options;
  const chosen = (
    environment.POWERTOOLS_LOG_LEVEL ??
    environment.AWS_LAMBDA_LOG_LEVEL ??
    'INFO'
  ).toUpperCase();
  const lowest = Math.max(0, LEVELS.indexOf(chosen as Level));

  const write = (level: Level, message: string, fields: Readonly<Record<string, unknown>> = {}) => {
    const { requestId, traceId: _, ...job } = currentJob.getStore() ?? {};
    const line = {
      level,
      message,
      timestamp: new Date(now()).toISOString(),
      service: serviceName,
      function_request_id: requestId,
      ...job,
      ...fields,
    };
    writeTo(STDOUT, jsonLine(line) ?? jsonLine({ level, message }) ?? textOf([message]));
  };

  const say: typeof write = (level, message, fields) => {
    if (LEVELS.indexOf(level) >= lowest) write(level, message, fields);
  };

  return {
    info: (message, fields) => say('INFO', message, fields),
    warn: (message, fields) => say('WARN', message, fields),
    error: (message, error, fields) => say('ERROR', message, { ...fields, error: errorFields(error) }),
    console(level, args) {
      const text = textOf(args);
      const job = currentJob.getStore();
      if (job !== undefined && !isTerminal) return write(level, text);
      const name = job === undefined ? '' : `[${job.jobId} #${job.attempt}] `;
      writeTo(level === 'ERROR' || level === 'WARN' ? STDERR : STDOUT, `${name}${text}`);
    },
  };
}

/** Makes `console` write whole lines that name their job. */
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

/** Whoever logs an error that cannot be read has enough trouble. */
function errorFields(error: unknown) {
  try {
    if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
    const { name, message, stack } = error;
    return { name, message, stack };
  } catch {
    return { name: 'Error', message: loggableError(error) };
  }
}

/** As `console` shows it; a value whose own text cannot be made is left out. */
function textOf(args: readonly unknown[]): string {
  try {
    return format(...args);
  } catch (error) {
    return `(unreadable: ${loggableError(error)})`;
  }
}

function jsonLine(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
  } catch {
    return undefined;
  }
}
