import {
  CLAIMED_DATA_SPARE_MS,
  dataKeys,
  isDataPointer,
  ownerOfData,
  pointersOf,
} from '../../lib/protocol/rows/data-pointer.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { World } from './world.ts';

const isOlder = (row: Row, than: Row | undefined): boolean =>
  Number(row.attempt) < Number(than?.attempt) ||
  (row.attempt === than?.attempt && Number(row.seq) < Number(than?.seq));

/** What must be true of the rows beside jobs: what a job points to is there, whole, unchanged, and for long enough. */
export class DataRules {
  readonly #jobs = new Map<string, Row>();
  readonly #data = new Map<string, Row>();
  readonly #retentionMs: number;

  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  forget(jobId: string): void {
    this.#jobs.delete(jobId);
  }

  /** Undefined where the write is not to a data row. */
  dataProblems(before: Row | undefined, after: Row, write: RowWrite, now: number): string[] | undefined {
    // Where it was written, which a planted bug may have changed.
    const key = String(after.jobId);
    const owner = ownerOfData(key);
    if (owner === undefined) return undefined;
    const needed = now + this.#retentionMs + CLAIMED_DATA_SPARE_MS;
    if (write.transition === 'extendData' && Number(after.expiresAt) * 1000 < needed)
      return ['data that a claim needs still expires soon'];
    // Not what is there: what TTL took too early may come back by a late repeat, and so may an older one, which nobody takes for it.
    const last = this.#data.get(key);
    if (before === undefined && isOlder(after, last)) return [];
    const known = last?.data;
    this.#data.set(key, after);
    const job = this.#jobs.get(owner);
    const isPointedTo =
      job !== undefined && pointersOf(job).some(([, pointer]) => dataKeys(owner, pointer).includes(key));
    return isPointedTo && known !== after.data ? ['data that its job points to was overwritten'] : [];
  }

  /** `skippedMs`: time in which nobody could extend anything. */
  pointerProblems(after: Row, { now, skippedMs }: Pick<World, 'now' | 'skippedMs'>): string[] {
    const jobId = String(after.jobId);
    this.#jobs.set(jobId, after);
    return pointersOf(after).flatMap(([name, pointer]) => {
      const text = this.textOf(after, name);
      if (text === undefined) return [`its ${name} points to data that is not there`];
      const rows = dataKeys(jobId, pointer).map((key) => this.#data.get(key));
      const isMeant = rows.every((row) => row?.attempt === pointer.attempt && row?.seq === pointer.seq);
      if (!isMeant || Buffer.byteLength(text) !== pointer.bytes) return [`its ${name} points to other data`];
      const expiries = rows.map((row) => Number(row?.expiresAt));
      return Math.min(...expiries) * 1000 < now + (skippedMs > 0 ? 0 : this.#retentionMs)
        ? [`its ${name} expires before its row could`]
        : [];
    });
  }

  /** The text of an attribute, wherever it is. */
  textOf(row: Row, name: string): string | undefined {
    const value = row[name];
    if (!isDataPointer(value)) return typeof value === 'string' ? value : undefined;
    const parts = dataKeys(String(row.jobId), value).map((key) => this.#data.get(key)?.data);
    return parts.every((part) => typeof part === 'string') ? parts.join('') : undefined;
  }
}
