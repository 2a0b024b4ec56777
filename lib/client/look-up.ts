import { describeQueue, type QueueCounts } from '../aws/sqs/queue-inspection.ts';
import type { Job } from '../protocol/job.ts';
import { counted } from '../tools/inspect/counted.ts';
import { formatDuration } from '../tools/inspect/format-duration.ts';
import type { ClientParts } from './client-parts.ts';

/** An id without a row: its message was not received yet, or nobody sent it, or its row has been removed. */
export interface UnknownJob {
  readonly status: 'unknown';
  readonly jobId: string;
  /** How much is before it in the queue, if it is there at all; undefined where the queue could not be asked. */
  readonly queue?: QueueCounts & {
    /** How old its oldest message is, as CloudWatch was told up to some minutes ago; undefined where it cannot be asked. */
    readonly oldestAgeMs?: number;
  };
  readonly says: string;
}

/** What the row of a job says, or the rejected message that named this id. One read where there is a row. */
export const lookUp = async (parts: LookUpParts, jobId: string): Promise<Job | UnknownJob> =>
  (await parts.store.read(jobId)) ?? unknownJob(parts, jobId);

type LookUpParts = UnknownParts & Pick<ClientParts, 'store'>;
type UnknownParts = Pick<ClientParts, 'found' | 'sqs' | 'queueAge'>;

/** What can be said of an id without a row. */
export async function unknownJob(parts: UnknownParts, jobId: string): Promise<UnknownJob> {
  const queue = await waitingIn(parts);
  return {
    status: 'unknown',
    jobId,
    queue,
    says: `There is no job '${jobId}' in table ${parts.found.tableName}: not started, or unknown.${tellWaiting(queue)} A message has no row before its first claim, and a finished job is removed after its retention`,
  };
}

function tellWaiting(queue: UnknownJob['queue']): string {
  if (queue === undefined) return '';
  const { visible, inFlight, delayed, oldestAgeMs } = queue;
  const oldest = oldestAgeMs === undefined ? '' : `; the oldest is ${formatDuration(oldestAgeMs)} old`;
  return ` In the queue ${counted(visible, 'message')} wait, ${inFlight} are with workers, ${delayed} are delayed${oldest}.`;
}

/** Whoever asks for a job may not be allowed to ask for the queue. An empty one has no oldest message. */
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
