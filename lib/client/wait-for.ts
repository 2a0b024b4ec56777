import { type FinishedJob, isFinished, type Job } from '../protocol/job.ts';
import type { Clock } from '../protocol/ports.ts';
import type { JsonValue } from '../wire/message.ts';
import { BAD_MESSAGE_TYPE } from '../wire/table.ts';
import type { ClientParts } from './client-parts.ts';
import { BadRequestError, JobCancelledError, JobFailedError, WaitTimedOutError } from './errors.ts';
import { type JobRecord, recordOf } from './job-record.ts';
import { unknownJob } from './look-up.ts';

/** How to wait for a job. */
export interface WaitOptions<Type extends string = string> {
  /** Types the result; a job of another type is refused. @default - any */
  readonly type?: Type;
  /** Up to a day. @default - 5 minutes */
  readonly timeoutMs?: number;
  /** Aborts the wait, not the job. */
  readonly signal?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 300_000;
const LONGEST_TIMEOUT_MS = 86_400_000;
/** Doubles up to the longest pause. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

type WaitParts = Pick<ClientParts, 'store' | 'found' | 'sqs' | 'queueAge'> & { readonly clock: Clock };

export async function waitForEnd(
  parts: WaitParts,
  jobId: string,
  options?: WaitOptions,
): Promise<FinishedJob> {
  let last: Job | undefined;
  for await (last of looksAt(parts, jobId, options));
  return last as FinishedJob;
}

export async function* watchJob(
  parts: WaitParts,
  jobId: string,
  options?: WaitOptions,
): AsyncGenerator<JobRecord, void> {
  let seen = '';
  for await (const job of looksAt(parts, jobId, options)) {
    const state = JSON.stringify([job?.status, job?.attempt, job?.progress]);
    if (job !== undefined && state !== seen) yield recordOf(job);
    seen = state;
  }
}

/** Continues without a row, because the message may still be queued. */
async function* looksAt(
  parts: WaitParts,
  jobId: string,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal, type }: WaitOptions = {},
): AsyncGenerator<Job | undefined, void> {
  const { store, clock } = parts;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 0 || timeoutMs > LONGEST_TIMEOUT_MS)
    throw new BadRequestError('timeoutMs', timeoutMs, `a whole number from 0 to ${LONGEST_TIMEOUT_MS}`);
  const until = clock.monotonic() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const job = await store.read(jobId);
    if (job !== undefined && type !== undefined && job.type !== type && !isRejected(job))
      throw new BadRequestError(
        `the type of job '${jobId}'`,
        job.type,
        `'${type}', the type that this call waits for`,
      );
    yield job;
    if (job !== undefined && isFinished(job)) return;
    const left = until - clock.monotonic();
    if (left <= 0) throw new WaitTimedOutError(job ?? (await unknownJob(parts, jobId)), timeoutMs);
    await clock.sleep(Math.min(pause, left), signal);
  }
}

const isRejected = (job: Job): boolean => job.type === BAD_MESSAGE_TYPE;

export function resultOf(job: FinishedJob): JsonValue | undefined {
  switch (job.status) {
    case 'done':
      return job.result;
    case 'failed':
      throw new JobFailedError(job);
    case 'cancelled':
      throw new JobCancelledError(job);
  }
}
