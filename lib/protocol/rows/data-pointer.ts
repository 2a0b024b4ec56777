import type { JsonValue } from '../../wire/message.ts';
import type { Row } from '../writes/row-write.ts';

/**
 * Where a text is kept that would make a job's row too large: in rows of its own. The pointer stands in the attribute in the
 * text's place, so that a row has the one or the other, and no write can mix the two.
 */
export interface DataPointer {
  /** The key of the data row, after the job's id and `#`. Further parts end in `~1`, `~2` and so on. */
  readonly in: string;
  readonly parts: number;
  /** The size of the text. */
  readonly bytes: number;
  /** Epoch seconds: when DynamoDB may delete the data rows. */
  readonly until: number;
  /** The beginning of an error's text. */
  readonly head?: string;
  /** Which of the checkpoints that take turns in this place is meant. */
  readonly seq?: number;
}

/** What an attribute holds: the text itself, or where it is. */
export type StoredText = string | DataPointer;

export const storedValue = (text: StoredText): JsonValue => text as JsonValue;

/** The attributes whose text may be elsewhere, and the letter of its data rows. */
export const dataKinds = {
  payload: 'p',
  checkpoint: 'c',
  progress: 'g',
  result: 'r',
  lastError: 'e',
  history: 'h',
} as const;

export type DataName = keyof typeof dataKinds;
export const dataNames = Object.keys(dataKinds) as DataName[];

/** The most that a job's row may have in bytes before texts go into rows of their own: one write unit, with some to spare. */
export const MAX_INLINE_ROW_BYTES = 1_000;

/** Below DynamoDB's limit of 400 KiB a row, with room for a key of the longest job id. */
const MAX_PART_BYTES = 380 * 1024;

/** Data outlives the row's retention by so long: time in which nobody has claimed the job. */
export const DATA_SPARE_MS = 30 * 86_400_000;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isDataPointer = (value: unknown): value is DataPointer =>
  isObject(value) &&
  typeof value.in === 'string' &&
  Number.isSafeInteger(value.parts) &&
  Number.isSafeInteger(value.bytes) &&
  Number.isSafeInteger(value.until) &&
  (value.parts as number) >= 1 &&
  (value.parts as number) <= 100;

/** The pointers on a row, by attribute. */
export function pointersOf(row: Row, names: readonly DataName[] = dataNames): [DataName, DataPointer][] {
  return names.flatMap((name) => {
    const value = row[name];
    return isDataPointer(value) ? [[name, value] as [DataName, DataPointer]] : [];
  });
}

/** The keys of the rows that a pointer means, in order. */
export const dataKeys = (jobId: string, pointer: DataPointer): string[] =>
  Array.from({ length: pointer.parts }, (_, part) => dataKey(jobId, pointer.in, part));

export const dataKey = (jobId: string, place: string, part: number): string =>
  `${jobId}#${place}${part === 0 ? '' : `~${part}`}`;

/** Whether this key is a data row's, and whose. */
export const ownerOfData = (key: string): string | undefined => {
  const at = key.indexOf('#');
  return at === -1 ? undefined : key.slice(0, at);
};

/** The text cut into parts that fit into a row each, never through a character. */
export function partsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const parts: string[] = [];
  for (let from = 0; from < bytes.length || parts.length === 0; ) {
    let to = Math.min(bytes.length, from + MAX_PART_BYTES);
    // A byte of the form 10xxxxxx goes on with a character that began before it.
    while (to < bytes.length && ((bytes[to] as number) & 0xc0) === 0x80) to--;
    parts.push(bytes.subarray(from, to).toString());
    from = to;
  }
  return parts;
}
