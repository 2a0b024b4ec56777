import { dataKeys, isDataPointer, ownerOfData, pointersOf } from '../../lib/protocol/rows/data-pointer.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { MOVES_DATA } from './row-rules.ts';
import type { World } from './world.ts';

const MOVED = ['payload', 'checkpoint', 'progress', 'lastError'];

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
  dataProblems(before: Row | undefined, after: Row, write: RowWrite): string[] | undefined {
    const owner = ownerOfData(write.jobId);
    if (owner === undefined) return undefined;
    // Not what is there: what TTL took too early may come back by a late repeat, and so may an older one, which nobody takes for it.
    const last = this.#data.get(write.jobId);
    if (before === undefined && Number(after.seq) < Number(last?.seq)) return [];
    const known = last?.data;
    this.#data.set(write.jobId, after);
    const job = this.#jobs.get(owner);
    const isPointedTo =
      job !== undefined &&
      pointersOf(job).some(([, pointer]) => dataKeys(owner, pointer).includes(write.jobId));
    return isPointedTo && known !== after.data ? ['data that its job points to was overwritten'] : [];
  }

  /** A write that moves texts changes none of them. */
  movedProblems(before: Row | undefined, after: Row, { transition }: RowWrite): string[] {
    if (before === undefined || !MOVES_DATA.has(transition)) return [];
    return MOVED.flatMap((name) =>
      this.textOf(before, name) === this.textOf(after, name) ? [] : [`its ${name} was changed by moving it`],
    );
  }

  /** `skippedMs`: time in which nobody could renew anything. */
  pointerProblems(after: Row, { now, skippedMs }: Pick<World, 'now' | 'skippedMs'>): string[] {
    const jobId = String(after.jobId);
    this.#jobs.set(jobId, after);
    return pointersOf(after).flatMap(([name, pointer]) => {
      const text = this.textOf(after, name);
      if (text === undefined) return [`its ${name} points to data that is not there`];
      if (Buffer.byteLength(text) !== pointer.bytes) return [`its ${name} points to other data`];
      return pointer.until * 1000 < now + (skippedMs > 0 ? 0 : this.#retentionMs)
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
