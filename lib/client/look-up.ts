import { describeQueue, type QueueCounts } from '../aws/sqs/queue-inspection.ts';
import { counted } from '../inspect/counted.ts';
import type { Job } from '../protocol/job.ts';
import type { ClientParts } from './client-parts.ts';

/** An id without a row: its message was not received yet, or nobody sent it, or its row has been removed. */
export interface UnknownJob {
  readonly status: 'unknown';
  readonly jobId: string;
  /** How much is before it in the queue, if it is there at all; undefined where the queue could not be asked. */
  readonly queue?: QueueCounts;
  readonly says: string;
}

/** What the row of a job says, or the rejected message that named this id. One read where there is a row. */
export const lookUp = async (parts: LookUpParts, jobId: string): Promise<Job | UnknownJob> =>
  (await parts.store.read(jobId)) ?? unknownJob(parts, jobId);

type LookUpParts = Pick<ClientParts, 'store' | 'found' | 'sqs'>;

/** What can be said of an id without a row. */
export async function unknownJob(
  { found, sqs }: Pick<ClientParts, 'found' | 'sqs'>,
  jobId: string,
): Promise<UnknownJob> {
  const queue = found.queueUrl === undefined ? undefined : await countsAt(sqs, found.queueUrl);
  const waiting =
    queue === undefined
      ? ''
      : ` In the queue ${counted(queue.visible, 'message')} wait, ${queue.inFlight} are with workers, ${queue.delayed} are delayed.`;
  return {
    status: 'unknown',
    jobId,
    queue,
    says: `There is no job '${jobId}' in table ${found.tableName}: not started, or unknown.${waiting} A message has no row before its first claim, and a finished job is removed after its retention`,
  };
}

/** Whoever asks for a job may not be allowed to ask for the queue. */
async function countsAt(sqs: ClientParts['sqs'], queueUrl: string): Promise<QueueCounts | undefined> {
  try {
    const { visible, inFlight, delayed } = await describeQueue(sqs, queueUrl);
    return { visible, inFlight, delayed };
  } catch {
    return undefined;
  }
}
