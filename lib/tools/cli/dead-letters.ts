import { describeQueue, queueUrlOf } from '../../aws/sqs/queue-inspection.ts';
import type { JobQueue, ReceivedMessage } from '../../protocol/ports.ts';
import { messageLimits } from '../../settings/message-limits.ts';
import { parseMessage } from '../../wire/message.ts';
import { counted, formatNumber } from '../inspect/counted.ts';
import { formatAge } from '../inspect/format-duration.ts';
import { CliError, type ExitCode, exitCodes } from './cli-error.ts';
import type { System } from './system/system.ts';
import { confirmed } from './terminal/confirmed.ts';
import { firstLine, type Output } from './terminal/output.ts';
import { createProgress } from './terminal/progress.ts';
import type { Terminal } from './terminal/terminal.ts';

interface DeadLetterOptions {
  readonly dlqUrl?: string;
  readonly limit: number;
}

export interface ResendOptions extends DeadLetterOptions {
  readonly rate: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const AT_ONCE = 10;
/** A single empty answer may have missed a server. */
const EMPTY_ANSWERS = 2;

export async function listDeadLetters(
  system: System,
  output: Output,
  options: DeadLetterOptions,
): Promise<void> {
  const queue = system.queueAt(await deadLetterUrl(system, options));
  const messages: ReceivedMessage[] = [];
  for await (const batch of drain(queue, options.limit)) messages.push(...batch);
  // Receiving hid the messages; this makes them visible again.
  await queue.changeVisibility(messages, 0);
  show(system, output, messages);
}

async function deadLetterUrl(system: System, { dlqUrl }: DeadLetterOptions): Promise<string> {
  if (dlqUrl !== undefined) return dlqUrl;
  const { redrive } = await describeQueue(system.sqs, system.queueUrl());
  if (redrive === undefined)
    throw new CliError(
      "The job queue has no redrive policy, so its dead-letter queue is unknown. Add --dlq-url, and run 'leasehold doctor'",
    );
  return queueUrlOf(system.sqs, redrive.deadLetterArn);
}

async function* drain(queue: JobQueue, limit: number): AsyncGenerator<readonly ReceivedMessage[]> {
  let left = limit;
  for (let empty = 0; left > 0 && empty < EMPTY_ANSWERS; ) {
    const batch = await queue.receive({ max: Math.min(AT_ONCE, left), waitSeconds: 1 });
    if (batch.length === 0) empty++;
    else {
      empty = 0;
      left -= batch.length;
      yield batch;
    }
  }
}

function show({ settings, clock }: System, output: Output, messages: readonly ReceivedMessage[]): void {
  const now = clock.now();
  const described = messages.map((message) => {
    const parsed = parseMessage(message.body, messageLimits(settings), { sentAt: message.sentAt, now });
    const job = parsed.ok ? (parsed.message.jobId ?? message.messageId) : undefined;
    const what = parsed.ok ? (parsed.message.kind === 'hint' ? 'hint' : parsed.message.type) : 'unreadable';
    return { ...message, job, what, reason: parsed.ok ? undefined : parsed.reason };
  });
  output.json({
    messages: described.map(({ receiptHandle: _, what, job, ...message }) => ({
      ...message,
      what,
      jobId: job,
    })),
  });
  if (described.length > 0)
    output.table({
      columns: [
        { title: 'MESSAGE', leaveOut: 1 },
        'SENT',
        { title: 'WHAT', min: 10, cut: 'middle' },
        { title: 'JOB', min: 24, cut: 'middle' },
      ],
      rows: described.map(({ messageId, sentAt, what, job, reason }) => [
        messageId,
        formatAge(sentAt, now),
        what === 'unreadable' ? [what, output.colors.red] : what,
        job ?? firstLine(reason ?? ''),
      ]),
    });
  output.line(output.colors.dim(counted(messages.length, 'message')));
}

export async function resendDeadLetters(
  terminal: Terminal,
  system: System,
  output: Output,
  options: ResendOptions,
): Promise<ExitCode> {
  const url = await deadLetterUrl(system, options);
  const { visible } = await describeQueue(system.sqs, url);
  if (options.dryRun === true) {
    output.json({ moved: 0, dryRun: true, wouldMove: Math.min(visible, options.limit) });
    output.line(
      `About ${counted(Math.min(visible, options.limit), 'message')} would be sent again; nothing was changed.`,
    );
    return exitCodes.ok;
  }
  const question = `Send up to ${counted(options.limit, 'message')} (about ${formatNumber(visible)} are there) to the job queue again?`;
  if (!(await confirmed(terminal, question, options))) return exitCodes.refused;
  const { moved, failures } = await move(terminal, system, output, url, options);
  output.json({ moved, failures });
  output.line(`${output.colors.green('sent again')} ${counted(moved, 'message')}`);
  for (const failure of failures) if (!output.isJson) output.note(`${output.colors.red('✗')} ${failure}`);
  return failures.length > 0 || terminal.interrupted.aborted ? exitCodes.refused : exitCodes.ok;
}

/** Sends before deleting: a crash in between duplicates a message, which is harmless, but never loses one. */
async function move(terminal: Terminal, system: System, output: Output, url: string, options: ResendOptions) {
  const { clock, interrupted } = terminal;
  const from = system.queueAt(url);
  const to = system.queue();
  const progress = createProgress(terminal, output, 'sending again');
  const started = clock.monotonic();
  const failures: string[] = [];
  let moved = 0;
  for await (const batch of drain(from, options.limit)) {
    const outcomes = await to.sendJobs(batch.map(({ body }) => ({ body })));
    const sent = batch.filter((_, i) => outcomes[i]?.outcome === 'sent');
    const kept = batch.filter((_, i) => outcomes[i]?.outcome !== 'sent');
    await from.delete(sent);
    await from.changeVisibility(kept, 0);
    moved += sent.length;
    for (const [i, outcome] of outcomes.entries())
      if (outcome.outcome === 'failed') failures.push(`${batch[i]?.messageId}: ${outcome.reason}`);
    progress.update(moved);
    // Messages that cannot be sent return at once and would be received again and again.
    if (interrupted.aborted || failures.length > 0) break;
    const ahead = (moved / options.rate) * 1000 - (clock.monotonic() - started);
    if (ahead > 0) await clock.sleep(ahead, interrupted).catch(() => undefined);
  }
  progress.end();
  return { moved, failures };
}
