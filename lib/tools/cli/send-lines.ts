import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { messageLimits } from '../../settings/message-limits.ts';
import { jobBody, parseMessage } from '../../wire/message.ts';
import { counted } from '../inspect/counted.ts';
import { checkJobs } from './check-jobs.ts';
import { type ExitCode, exitCodes } from './cli-error.ts';
import type { System } from './system/system.ts';
import type { Output } from './terminal/output.ts';
import { createProgress } from './terminal/progress.ts';
import type { Terminal } from './terminal/terminal.ts';

/** Enough to fill SQS's batches, few enough to stop soon after Ctrl-C. */
const CHUNK = 500;
const LISTED = 20;

interface Failure {
  readonly line: number;
  readonly reason: string;
}

interface SendTally {
  sent: number;
  readonly failures: Failure[];
}

/** A bad line is skipped, reported at the end, and changes the exit code. */
export async function sendLines(
  terminal: Terminal,
  system: System,
  output: Output,
  input: AsyncIterable<string | Uint8Array>,
  given: { readonly type: string | undefined; readonly fields: object; readonly force: boolean | undefined },
): Promise<ExitCode> {
  const tally: SendTally = { sent: 0, failures: [] };
  const progress = createProgress(terminal, output, 'sending');
  const queue = system.queue();
  let chunk: { line: number; body: string; type: string; payload: string }[] = [];
  const flush = async () => {
    const refusals = given.force ? [] : await checkJobs(system.found, chunk);
    const good = chunk.filter(({ line }, i) => {
      const reason = refusals[i] ?? undefined;
      if (reason !== undefined) tally.failures.push({ line, reason });
      return reason === undefined;
    });
    const outcomes = await queue.sendJobs(good);
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.outcome === 'sent') tally.sent++;
      else tally.failures.push({ line: good[i]?.line ?? 0, reason: outcome.reason });
    }
    chunk = [];
    progress.update(tally.sent + tally.failures.length);
  };
  let number = 0;
  for await (const text of createInterface({
    input: Readable.from(input),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++;
    if (terminal.interrupted.aborted) break;
    if (text.trim() === '') continue;
    const body = bodyOf(text, given);
    const now = terminal.clock.now();
    const parsed = parseMessage(body, messageLimits(system.settings), { sentAt: now, now });
    if (parsed.ok && parsed.message.kind === 'job') {
      const { type, payload } = parsed.message;
      chunk.push({ line: number, body, type, payload });
    } else
      tally.failures.push({
        line: number,
        reason: parsed.ok ? 'a hint is not a job; only the reaper sends hints' : parsed.reason,
      });
    if (chunk.length >= CHUNK) await flush();
  }
  if (chunk.length > 0) await flush();
  progress.end();
  return report(output, tally, terminal.interrupted.aborted);
}

function bodyOf(text: string, { type, fields }: { type: string | undefined; fields: object }): string {
  try {
    const value = JSON.parse(text) as unknown;
    if (type !== undefined) return jobBody(type, value, fields);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? JSON.stringify({ ...fields, ...value })
      : text;
  } catch {
    return text;
  }
}

function report(output: Output, { sent, failures }: SendTally, isCut: boolean): ExitCode {
  failures.sort((a, b) => a.line - b.line);
  output.json({ sent, failed: failures.length, failures, interrupted: isCut || undefined });
  output.line(
    `${output.colors.green('sent')} ${counted(sent, 'job')}${failures.length > 0 ? `, ${output.colors.red(`${failures.length} not sent`)}` : ''}${isCut ? ', interrupted' : ''}`,
  );
  for (const { line, reason } of failures.slice(0, LISTED)) output.note(`  line ${line}: ${reason}`);
  if (failures.length > LISTED)
    output.note(`  … and ${failures.length - LISTED} more; --json lists them all`);
  return failures.length > 0 || isCut ? exitCodes.refused : exitCodes.ok;
}
