import { describeQueue, type QueueCounts } from '../aws/sqs/queue-inspection.ts';
import type { Job } from '../protocol/job.ts';
import { counted } from '../tools/inspect/counted.ts';
import { formatDuration } from '../tools/inspect/format-duration.ts';
import type { ClientParts } from './client-parts.ts';

/** An ID without a row: not received yet, never sent, or expired. */
export interface UnknownJob {
  readonly status: 'unknown';
  readonly jobId: string;
  /** Messages ahead of it; undefined if the queue is not accessible. */
  readonly queue?: QueueCounts & {
    /** From CloudWatch, a few minutes old; undefined if not accessible. */
    readonly oldestAgeMs?: number;
  };
  readonly message: string;
}

export const lookUp = async (parts: LookUpParts, jobId: string): Promise<Job | UnknownJob> =>
  (await parts.store.read(jobId)) ?? unknownJob(parts, jobId);

type LookUpParts = UnknownParts & Pick<ClientParts, 'store'>;
type UnknownParts = Pick<ClientParts, 'found' | 'sqs' | 'queueAge'>;

export async function unknownJob(parts: UnknownParts, jobId: string): Promise<UnknownJob> {
  const queue = await waitingIn(parts);
  return {
    status: 'unknown',
    jobId,
    queue,
    message: `There is no job '${jobId}' in table ${parts.found.tableName}: not started, or unknown.${tellWaiting(queue)} A message has no row before its first claim, and a finished job is removed after its retention`,
  };
}

function tellWaiting(queue: UnknownJob['queue']): string {
  if (queue === undefined) return '';
  const { visible, inFlight, delayed, oldestAgeMs } = queue;
  const oldest = oldestAgeMs === undefined ? '' : `; the oldest is ${formatDuration(oldestAgeMs)} old`;
  return ` In the queue ${counted(visible, 'message')} wait, ${inFlight} are with workers, ${delayed} are delayed${oldest}.`;
}

async function waitingIn({ found, sqs, queueAge }: UnknownParts): Promise<UnknownJob['queue']> {
  if (found.queueUrl === undefined) return undefined;
  try {
    const { visible, inFlight, delayed } = await describeQueue(sqs, found.queueUrl);
    const oldestAgeMs = visible + inFlight === 0 ? undefined : await queueAge();
    return { visible, inFlight, delayed, oldestAgeMs };
  } catch {
    return undefined;
  }
}
