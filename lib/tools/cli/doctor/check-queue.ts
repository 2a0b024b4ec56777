import type { QueueDescription } from '../../../aws/sqs/queue-inspection.ts';
import { declarations, type Settings } from '../../../settings/settings.ts';
import { jobQueueAttributes } from '../../../wire/queues.ts';
import { formatDuration } from '../../inspect/format-duration.ts';
import { type Finding, problem } from './check.ts';

const DEPLOY = 'set it in the stack and deploy; a queue created by hand needs it, too';

export function checkQueue(
  queue: QueueDescription,
  deadLetters: QueueDescription | undefined,
  settings: Settings,
): Finding[] {
  return [
    ...(queue.isFifo
      ? [problem('the queue is a FIFO queue, which cannot delay single messages', 'use a standard queue')]
      : []),
    ...[...deliveryProblems(queue, settings), ...deadLetterProblems(queue, deadLetters, settings)]
      .filter((message) => message !== undefined)
      .map((message) => problem(message, DEPLOY)),
  ];
}

const when = (isWrong: boolean, message: string): string | undefined => (isWrong ? message : undefined);

function deliveryProblems(queue: QueueDescription, settings: Settings) {
  const { visibilityTimeoutMs, retentionMs, maxMessageBytes } = queue;
  const longest = settings.functionTimeoutMs + settings.batchWindowMs;
  return [
    when(
      visibilityTimeoutMs < longest,
      `the queue's visibility timeout is ${formatDuration(visibilityTimeoutMs)}; an invocation may take ${formatDuration(longest)}, and SQS would deliver its messages again before it ends`,
    ),
    when(
      retentionMs >= settings.rowRetentionMs,
      `the queue keeps messages for ${formatDuration(retentionMs)}, as long as finished rows (${formatDuration(settings.rowRetentionMs)}) or longer: a late duplicate would run a finished job again`,
    ),
    when(
      maxMessageBytes < jobQueueAttributes(settings).maxMessageBytes && maxMessageBytes > 0,
      `the queue accepts messages of up to ${maxMessageBytes} bytes; a payload may have ${settings.maxPayloadBytes}`,
    ),
  ];
}

function deadLetterProblems(
  { redrive, retentionMs }: QueueDescription,
  deadLetters: QueueDescription | undefined,
  { rowRetentionMs }: Settings,
) {
  if (redrive === undefined)
    return [
      'the queue has no dead-letter queue: a message that no worker can process is lost when it expires',
    ];
  const fewest = declarations.maxReceiveCount.min;
  const kept = deadLetters?.retentionMs;
  return [
    when(
      redrive.maxReceiveCount < fewest,
      `a message goes to the dead-letter queue after ${redrive.maxReceiveCount} deliveries; with fewer than ${fewest}, good messages end up there when workers are busy`,
    ),
    when(
      kept !== undefined && kept <= retentionMs,
      `the dead-letter queue keeps messages for ${formatDuration(kept ?? 0)}, not longer than the queue itself (${formatDuration(retentionMs)}): a message's age counts from when it was first sent`,
    ),
    when(
      kept !== undefined && kept >= rowRetentionMs,
      `the dead-letter queue keeps messages for ${formatDuration(kept ?? 0)}, as long as finished rows (${formatDuration(rowRetentionMs)}) or longer`,
    ),
  ];
}
