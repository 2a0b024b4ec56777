import { claimOf, type RunningJob } from '../job.ts';
import { type DataName, MAX_INLINE_ROW_BYTES, pointersOf, type StoredText } from '../rows/data-pointer.ts';
import { parseJob } from '../rows/parse-row.ts';
import { attributeBytes, rowBytes } from '../rows/row-bytes.ts';
import { rowAfter } from '../writes/evaluate.ts';
import type { Row } from '../writes/row-write.ts';
import { tidyWrite } from '../writes/worker-writes.ts';
import type { StoreParts } from './store-parts.ts';

/** What may be moved; a pointer of its own takes about 60 bytes, so smaller texts stay. */
const MOVABLE: readonly DataName[] = ['payload', 'checkpoint', 'progress', 'lastError'];
const WORTH_MOVING_BYTES = 150;

/**
 * Makes a claimed row small enough for its heartbeats to cost one write unit each: moves texts and the entries of past claims
 * to rows of their own, as far as needed. And renews data that could expire before the job is done with it. Rarely anything is
 * to do: rows that 0.1 wrote, jobs of many claims, jobs that waited for weeks. Best effort, because the job can run without.
 */
export async function tidyRow(parts: StoreParts, job: RunningJob, row: Row, whole: Row): Promise<Row> {
  const isOld = pointersOf(row).some(([, pointer]) => parts.data.expiresSoon(pointer));
  if (!isOld && rowBytes(row) <= MAX_INLINE_ROW_BYTES) return row;
  try {
    const tidied = await planTidy(parts, job, row, whole);
    if (Object.keys(tidied.texts).length === 0) return row;
    const write = tidyWrite(claimOf(job), tidied, parts.context());
    const { outcome } = await parts.fenced(write);
    return outcome === 'written' ? rowAfter(write, row) : row;
  } catch {
    return row;
  }
}

async function planTidy({ data }: StoreParts, job: RunningJob, row: Row, whole: Row) {
  const { jobId, attempt } = job;
  const texts: Partial<Record<DataName, StoredText>> = {};
  const remove: string[] = [];
  /** The row as it will be: a pointer takes bytes as well. */
  const tidied: Record<string, unknown> = { ...row };
  const isTooLarge = () => rowBytes(tidied) > MAX_INLINE_ROW_BYTES;
  const move = async (name: DataName, text: string) => {
    const pointer = await data.put({ jobId, name, text, attempt });
    texts[name] = pointer;
    tidied[name] = pointer;
  };
  const { row: full } = await data.resolve(whole);
  for (const [name, pointer] of pointersOf(row)) {
    const text = full[name];
    if (data.expiresSoon(pointer) && typeof text === 'string') await move(name, text);
  }
  const entries = Object.keys(row).filter((name) => /^claim\d\d$/.test(name));
  const ringBytes = entries.reduce((sum, name) => sum + attributeBytes(name, row[name]), 0);
  if (isTooLarge() && ringBytes > WORTH_MOVING_BYTES) {
    await move('history', JSON.stringify(parseJob(full).claims));
    remove.push(...entries);
    for (const name of entries) tidied[name] = undefined;
  }
  for (const name of MOVABLE) {
    const text = tidied[name];
    if (typeof text !== 'string' || attributeBytes(name, text) < WORTH_MOVING_BYTES) continue;
    if (isTooLarge()) await move(name, text);
  }
  return { texts, remove, checkpointSeq: row.checkpointSeq as number | undefined };
}
