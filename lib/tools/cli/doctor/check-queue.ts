import type { QueueDescription } from '../../../aws/sqs/queue-inspection.ts';
import { declarations, type Settings } from '../../../settings/settings.ts';
import { jobQueueAttributes } from '../../../wire/queues.ts';
import { formatDuration } from '../../inspect/format-duration.ts';
import { type Finding, problem, warning } from './check.ts';

const DEPLOY = 'set it in the stack and deploy; a queue created by hand needs it, too';

/** A queue whose attributes break what the protocol relies on. */
export function checkQueue(
  queue: QueueDescription,
  deadLetters: QueueDescription | undefined,
  settings: Settings,
): Finding[] {
  return [
    ...checkDelivery(queue, settings),
    ...checkDeadLetters(queue, deadLetters, settings),
    ...checkPolicy(queue),
  ];
}

function checkDelivery(queue: QueueDescription, settings: Settings): Finding[] {
  const findings: Finding[] = [];
  const longest = settings.functionTimeoutMs + settings.batchWindowMs;
  const wanted = jobQueueAttributes(settings);
  if (queue.isFifo)
    findings.push(
      problem('the queue is a FIFO queue, which cannot delay single messages', 'use a standard queue'),
    );
  if (queue.visibilityTimeoutMs < longest)
    findings.push(
      problem(
        `the queue's visibility timeout is ${formatDuration(queue.visibilityTimeoutMs)}; an invocation may take ${formatDuration(longest)}, and SQS would deliver its messages again before it ends`,
        DEPLOY,
      ),
    );
  if (queue.retentionMs >= settings.rowRetentionMs)
    findings.push(
      problem(
        `the queue keeps messages for ${formatDuration(queue.retentionMs)}, as long as finished rows (${formatDuration(settings.rowRetentionMs)}) or longer: a late duplicate would run a finished job again`,
        DEPLOY,
      ),
    );
  if (queue.maxMessageBytes < wanted.maxMessageBytes && queue.maxMessageBytes > 0)
    findings.push(
      problem(
        `the queue accepts messages of up to ${queue.maxMessageBytes} bytes; a payload may have ${settings.maxPayloadBytes}`,
        DEPLOY,
      ),
    );
  return findings;
}

function checkDeadLetters(
  queue: QueueDescription,
  deadLetters: QueueDescription | undefined,
  settings: Settings,
): Finding[] {
  if (queue.redrive === undefined)
    return [
      problem(
        'the queue has no dead-letter queue: a message that no worker can process is lost when it expires',
        DEPLOY,
      ),
    ];
  const findings: Finding[] = [];
  const fewest = declarations.maxReceiveCount.min;
  if (queue.redrive.maxReceiveCount < fewest)
    findings.push(
      problem(
        `a message goes to the dead-letter queue after ${queue.redrive.maxReceiveCount} deliveries; with fewer than ${fewest}, good messages end up there when workers are busy`,
        DEPLOY,
      ),
    );
  if (deadLetters !== undefined && deadLetters.retentionMs <= queue.retentionMs)
    findings.push(
      problem(
        `the dead-letter queue keeps messages for ${formatDuration(deadLetters.retentionMs)}, not longer than the queue itself (${formatDuration(queue.retentionMs)}): a message's age counts from when it was first sent`,
        DEPLOY,
      ),
    );
  if (deadLetters !== undefined && deadLetters.retentionMs >= settings.rowRetentionMs)
    findings.push(
      problem(
        `the dead-letter queue keeps messages for ${formatDuration(deadLetters.retentionMs)}, as long as finished rows (${formatDuration(settings.rowRetentionMs)}) or longer`,
        DEPLOY,
      ),
    );
  if (deadLetters !== undefined && deadLetters.visible > 0)
    findings.push(
      warning(
        `${deadLetters.visible} messages are in the dead-letter queue`,
        "its consumer should have turned them into rows; list them with 'leasehold dlq ls'",
      ),
    );
  return findings;
}

interface Statement {
  readonly Effect?: string;
  readonly Principal?: unknown;
  readonly Condition?: unknown;
}

/** A policy that lets anyone in. */
function checkPolicy({ policy }: QueueDescription): Finding[] {
  if (policy === undefined || policy === '') return [];
  let statements: readonly Statement[];
  try {
    const { Statement = [] } = JSON.parse(policy) as { Statement?: Statement | readonly Statement[] };
    statements = Array.isArray(Statement) ? Statement : [Statement as Statement];
  } catch {
    return [problem('the queue policy is not JSON', DEPLOY)];
  }
  const isOpen = statements.some(
    ({ Effect, Principal, Condition }) =>
      Effect === 'Allow' && Condition === undefined && isAnybody(Principal),
  );
  return isOpen
    ? [problem('the queue policy lets anyone use the queue', 'name the principals, or add a condition')]
    : [];
}

const isAnybody = (principal: unknown): boolean =>
  principal === '*' ||
  (typeof principal === 'object' &&
    principal !== null &&
    Object.values(principal).some((each) => each === '*' || (Array.isArray(each) && each.includes('*'))));
