import { type ActParts, actOnJob } from '../../client/act-on-job.ts';
import { inParallel } from '../../protocol/in-parallel.ts';
import { counted } from '../inspect/counted.ts';
import { type JobAction, MANY_AT_ONCE, type ManyReply } from './page-messages.ts';
import { replyToAction } from './reply-to-action.ts';

/** The longest job id plus the prefix of rejected messages. */
export const MAX_ID_LENGTH = 300;
const ACTS_AT_ONCE = 8;
const MAX_REASONS = 20;

const didTo: Readonly<Record<JobAction, string>> = {
  cancel: 'cancelled, or asked to stop',
  takeBack: 'taken back',
  revive: 'revived',
};

export function jobIdsIn(body: unknown): readonly string[] | undefined {
  const { jobIds } = (typeof body === 'object' && body !== null ? body : {}) as { jobIds?: unknown };
  if (!Array.isArray(jobIds) || jobIds.length === 0 || jobIds.length > MANY_AT_ONCE) return undefined;
  const isId = (id: unknown) => typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH;
  return jobIds.every(isId) ? [...new Set(jobIds as string[])] : undefined;
}

/** Each job has its own condition, so one that has changed is refused and named. */
export async function actOnMany(
  actions: ActParts,
  jobIds: readonly string[],
  action: JobAction,
): Promise<ManyReply> {
  const refused: { jobId: string; message: string }[] = [];
  let done = 0;
  await inParallel(jobIds, ACTS_AT_ONCE, async (jobId) => {
    const { ok, message } = await actOnJob(actions, jobId, action).then(
      (acted) => replyToAction(acted, action),
      (error: unknown) => ({ ok: false, message: error instanceof Error ? error.message : String(error) }),
    );
    if (ok) done += 1;
    else refused.push({ jobId, message });
  });
  return {
    ok: refused.length === 0,
    message: `${counted(done, 'job')} ${didTo[action]}${refused.length === 0 ? '' : `, ${refused.length} refused`}`,
    done,
    refused: refused.slice(0, MAX_REASONS),
  };
}
