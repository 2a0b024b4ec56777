import { limitGroup, partsOfGroup, pauseGroups } from '../../wire/limits.ts';
import type { Clock, Hint, JobQueue, Table } from '../ports.ts';
import { changeControl } from './control.ts';

interface Parts {
  readonly table: Pick<Table, 'apply' | 'query'>;
  readonly queue: Pick<JobQueue, 'sendHints'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly by: string;
}

/** By then every worker knows that the type has resumed. */
const RESUMED_HINT_SECONDS = 2;
/** Workers cache the controls this long. */
const CHANGED_HINT_SECONDS = 10;
const PAGE = 500;

/** Within 10 s, jobs of the type are parked; running ones continue. */
export const pauseType = (
  { table, clock, by }: Pick<Parts, 'table' | 'clock' | 'by'>,
  type: string,
): Promise<void> => changeControl(table, { map: 'paused', key: type, value: clock.now(), by });

/** Hints every parked job, and may be repeated. A job whose hint is lost waits for up to 4 hours. */
export async function resumeType({ table, queue, by }: Parts, type: string): Promise<number> {
  await changeControl(table, { map: 'paused', key: type, by });
  let hinted = 0;
  for (const group of pauseGroups(type)) {
    let cursor: Awaited<ReturnType<Table['query']>>['cursor'];
    do {
      const page = await table.query({ index: 'byWait', partition: group, limit: PAGE, cursor });
      const hints = page.rows.map(
        ({ jobId, key }): Hint => ({
          jobId: String(jobId),
          type,
          key: typeof key === 'string' ? key : undefined,
          delaySeconds: RESUMED_HINT_SECONDS,
        }),
      );
      hinted += (await queue.sendHints(hints)).sent;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
  return hinted;
}

/** Undefined restores the type's default. The oldest waiting jobs are hinted, in case there is room now. */
export async function changeLimit(
  { table, queue, by }: Parts,
  { type, key, limit }: { readonly type: string; readonly key?: string; readonly limit?: number },
): Promise<number> {
  const subject = key === undefined ? type : `${type}:${key}`;
  await changeControl(table, { map: 'limits', key: subject, value: limit, by });
  if (limit === undefined) return 0;
  const group = limitGroup(type, key);
  const { rows } = await table.query({ index: 'byWait', partition: group, limit });
  if (rows.length === 0) return 0;
  const { sent } = await queue.sendHints(
    rows.map(({ jobId }) => ({
      jobId: String(jobId),
      ...partsOfGroup(group),
      delaySeconds: CHANGED_HINT_SECONDS,
    })),
  );
  return sent;
}
