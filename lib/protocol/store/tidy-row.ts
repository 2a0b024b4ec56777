import { claimOf, type RunningJob } from '../job.ts';
import {
  type DataName,
  isDataPointer,
  MAX_INLINE_ROW_BYTES,
  pointersOf,
  type StoredText,
} from '../rows/data-pointer.ts';
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
  const { row: full } = await data.resolve(whole);
  for (const [name, pointer] of pointersOf(row)) {
    const text = full[name];
    if (data.expiresSoon(pointer) && typeof text === 'string')
      texts[name] = await data.put({ jobId, name, text, attempt });
  }
  let bytes = rowBytes(row);
  const entries = Object.keys(row).filter((name) => /^claim\d\d$/.test(name));
  const ringBytes = entries.reduce((sum, name) => sum + attributeBytes(name, row[name]), 0);
  if (bytes > MAX_INLINE_ROW_BYTES && ringBytes > WORTH_MOVING_BYTES) {
    const text = JSON.stringify(parseJob(full).claims);
    texts.history = await data.put({ jobId, name: 'history', text, attempt });
    remove.push(...entries);
    bytes -= ringBytes;
  }
  for (const name of MOVABLE) {
    const text = row[name];
    if (bytes <= MAX_INLINE_ROW_BYTES || typeof text !== 'string' || isDataPointer(text)) continue;
    if (attributeBytes(name, text) < WORTH_MOVING_BYTES) continue;
    const pointer = await data.put({ jobId, name, text, attempt });
    texts[name] = pointer;
    bytes += attributeBytes(name, pointer) - attributeBytes(name, text);
  }
  return { texts, remove, checkpointSeq: row.checkpointSeq as number | undefined };
}
