import type { Job, JobStatus } from '../protocol/job.ts';
import { defined } from '../wire/defined.ts';
import type { JsonValue } from '../wire/message.ts';

/** A job as an application sees it; `leasehold show --row` prints the whole row. Times are epoch milliseconds. */
export interface JobRecord {
  readonly jobId: string;
  readonly type: string;
  readonly status: JobStatus;
  readonly payload: JsonValue;
  /** What the handler returned. */
  readonly result?: JsonValue;
  /** What the handler last reported. */
  readonly progress?: JsonValue;
  /** How the last unsuccessful attempt ended. */
  readonly lastError?: string;
  readonly attempt: number;
  readonly cancelRequested: boolean;
  readonly createdAt: number;
  readonly notBefore?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
}

type Sometimes = 'result' | 'notBefore' | 'startedAt' | 'finishedAt';

export function recordOf(job: Job): JobRecord {
  const { jobId, type, status, progress, lastError, attempt, cancelRequested, createdAt } = job;
  const { result, notBefore, startedAt, finishedAt } = job as Pick<JobRecord, Sometimes>;
  return {
    jobId,
    type,
    status,
    payload: payloadOf(job),
    attempt,
    cancelRequested,
    createdAt,
    ...defined({ result, progress, lastError, notBefore, startedAt, finishedAt }),
  };
}

/** Only hand-edited rows are not JSON. */
export function payloadOf({ payload }: Pick<Job, 'payload'>): JsonValue {
  try {
    return JSON.parse(payload) as JsonValue;
  } catch {
    return payload;
  }
}
