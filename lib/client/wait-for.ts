import { type FinishedJob, isFinished, type Job } from '../protocol/job.ts';
import type { Clock } from '../protocol/ports.ts';
import type { JsonValue } from '../wire/message.ts';
import { BAD_MESSAGE_TYPE } from '../wire/table.ts';
import type { ClientParts } from './client-parts.ts';
import { BadRequestError, JobCancelledError, JobFailedError, WaitTimedOutError } from './errors.ts';
import { unknownJob } from './look-up.ts';

/** How long to wait for a job. */
export interface WaitOptions<Type extends string = string> {
  /** The type of the job, which types its result. A job of another type is refused. @default - any */
  readonly type?: Type;
  /** How long to wait, in milliseconds: up to a day. @default - 5 minutes */
  readonly timeoutMs?: number;
  /** Ends the wait with the signal's reason. The job goes on. */
  readonly signal?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 300_000;
const LONGEST_TIMEOUT_MS = 86_400_000;
/** The first pause between two looks; each is twice as long as the one before, up to the longest. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Waits until a job has ended. A job without a row is waited for as well: its message may still be in the queue. It looks at
 * once, after 0.1, 0.3, 0.7, 1.5, 3.1 and 6.3 s, then every 5 s: at most 7 + timeout / 5 s looks.
 */
export async function waitForEnd(
  parts: Pick<ClientParts, 'store' | 'found' | 'sqs' | 'queueAge'> & { readonly clock: Clock },
  jobId: string,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal, type }: WaitOptions = {},
): Promise<FinishedJob> {
  const { store, clock } = parts;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 0 || timeoutMs > LONGEST_TIMEOUT_MS)
    throw new BadRequestError('timeoutMs', timeoutMs, `a whole number from 0 to ${LONGEST_TIMEOUT_MS}`);
  const until = clock.monotonic() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const job = await store.read(jobId);
    if (job !== undefined && type !== undefined && job.type !== type && !isRejected(job))
      throw new BadRequestError(`the type of job '${jobId}'`, job.type, `'${type}', for which it was waited`);
    if (job !== undefined && isFinished(job)) return job;
    const left = until - clock.monotonic();
    if (left <= 0) throw new WaitTimedOutError(job ?? (await unknownJob(parts, jobId)), timeoutMs);
    await clock.sleep(Math.min(pause, left), signal);
  }
}

/** The row of a message that was rejected has a type of its own. */
const isRejected = (job: Job): boolean => job.type === BAD_MESSAGE_TYPE;

/** The result of a job that is done; the others are errors. */
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
