import pc from 'picocolors';
import { defined } from '../../wire/defined.ts';
import { SEE_LAST_ERROR } from '../../worker/describe-error.ts';
import { commandLine } from './command-line.ts';
import type { OutputLine } from './lambda-host/output-line.ts';
import type { StackEvent } from './stack.ts';

const LEVELS = new Map([
  ['WARN', pc.yellow],
  ['ERROR', pc.red],
]);
/** Fields of every worker line, useless here. */
const NOISE = new Set([
  'jobId',
  'attempt',
  'type',
  'service',
  'cold_start',
  'function_arn',
  'function_memory_size',
  'function_name',
  'function_request_id',
  'sampling_rate',
  'xray_trace_id',
  'timestamp',
]);

/** The row that alone has the reason, because the reason may quote the payload. */
export function rowWithReason(event: StackEvent): string | undefined {
  if (event.kind === 'output' && event.line.kind === 'log' && isRejection(event.line.message))
    return String(event.line.fields.row);
  if (event.kind !== 'bus') return undefined;
  const { jobId, lastError } = event.event.detail as { jobId?: string; lastError?: unknown };
  return String(lastError).endsWith(SEE_LAST_ERROR) ? jobId : undefined;
}

const isRejection = (message: string): boolean => message.startsWith('message rejected');

export function logLineOf(event: StackEvent, reason?: string): string | undefined {
  if (event.kind === 'problem') return pc.red(event.message);
  if (event.kind === 'bus')
    return busLine(event.event.name, { ...event.event.detail, ...defined({ lastError: reason }) });
  if (event.kind === 'sandbox') {
    const { functionName, pool, state, pid, ending, event: work, invocations } = event.sandbox;
    if (state === 'gone' && invocations === undefined)
      return pc.red(`container ${pid} of pool ${pool} ended (${ending})`);
    const isDeath = functionName.endsWith('-worker') && state === 'gone' && work !== undefined;
    return isDeath ? pc.red(`worker ${pid} died while it ran a job (${ending ?? 'gone'})`) : undefined;
  }
  if (event.kind === 'output' && event.functionName.endsWith('-worker'))
    return outputLine(event.line, reason);
  return undefined;
}

function outputLine(line: OutputLine, reason: string | undefined): string | undefined {
  if (line.kind === 'metrics') return undefined;
  if (line.kind === 'text') return line.text;
  const { level, message, fields } = line;
  if (isToldTwice(message, fields)) return undefined;
  const name = jobPrefix(fields);
  if (message === 'run ended') return `${name}${endingOf(fields)}`;
  if (isRejection(message))
    return `${pc.red('message rejected')}: ${reason ?? 'its row is gone'}  (${commandLine} show ${String(fields.row)})`;
  const paint = LEVELS.get(level) ?? ((text: string) => text);
  const rest = Object.entries(fields).filter(([key, value]) => !NOISE.has(key) && value !== undefined);
  const told = rest
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : stackOr(value)}`)
    .join(' ');
  return `${name}${paint(message)}${told === '' ? '' : `  ${told}`}`;
}

/** Events report these endings with the error's stack. */
const ENDINGS_BY_EVENT: readonly unknown[] = ['retried', 'failed', 'cancelled'];

function isToldTwice(message: string, { outcome, jobs }: Readonly<Record<string, unknown>>): boolean {
  if (message === 'run ended') return ENDINGS_BY_EVENT.includes(outcome);
  // Each of its jobs reports the cause.
  if (message === 'a cell died') return jobs !== 0;
  return message === 'attempt failed';
}

function stackOr(value: unknown): string {
  const { stack } = (typeof value === 'object' && value !== null ? value : {}) as { stack?: unknown };
  return typeof stack === 'string' ? stack : JSON.stringify(value);
}

const jobPrefix = ({ jobId, attempt, type }: Readonly<Record<string, unknown>>): string =>
  typeof jobId === 'string'
    ? `${pc.bold(jobId)}${type === undefined ? '' : pc.dim(` ${String(type)}`)}${attempt === undefined ? '' : pc.dim(` #${String(attempt)}`)}  `
    : '';

function endingOf({ outcome, durationMs }: Readonly<Record<string, unknown>>): string {
  const after = typeof durationMs === 'number' ? ` after ${(durationMs / 1000).toFixed(1)} s` : '';
  const paint = outcome === 'done' ? pc.green : outcome === 'failed' ? pc.red : pc.yellow;
  return `${paint(String(outcome))}${after}`;
}

function busLine(name: string, detail: Readonly<Record<string, unknown>>): string | undefined {
  const error = typeof detail.lastError === 'string' ? `: ${detail.lastError}` : '';
  switch (name) {
    case 'JobReclaimed':
      return `${jobPrefix(detail)}${pc.yellow('reclaimed')}: its worker is gone, the next one takes over`;
    case 'JobRetried':
      return `${jobPrefix(detail)}${pc.yellow('will be retried')}${error}`;
    case 'JobQuarantined':
      return `${jobPrefix(detail)}${pc.red('quarantined')}: it kept killing its worker`;
    case 'JobCancelled':
      return `${jobPrefix(detail)}${pc.yellow('cancelled')}`;
    case 'JobFailed':
      return `${jobPrefix(detail)}${pc.red('failed for good')}${error}`;
    default:
      return undefined;
  }
}
