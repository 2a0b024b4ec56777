import type { JsonValue } from '../../wire/message.ts';
import type { Row } from '../writes/row-write.ts';

/** Replaces a text that is too large for the job's row. */
export interface DataPointer extends Partial<DataVersion> {
  /** Key of the data row after `<jobId>#`; further parts end in `~1`, `~2` and so on. */
  readonly in: string;
  readonly parts: number;
  readonly bytes: number;
  readonly head?: string;
}

/** Orders the texts of one data row: the writing claim, and the text's number within it. */
export interface DataVersion {
  readonly attempt: number;
  readonly seq: number;
}

export type StoredText = string | DataPointer;

export const storedValue = (text: StoredText): JsonValue => text as JsonValue;

export const stored = (texts: Readonly<Record<string, StoredText | undefined>>) =>
  texts as Readonly<Record<string, JsonValue | undefined>>;

export const dataKinds = {
  payload: 'p',
  checkpoint: 'c',
  progress: 'g',
  result: 'r',
  lastError: 'e',
} as const;

export type DataName = keyof typeof dataKinds;
export const dataNames = Object.keys(dataKinds) as DataName[];

/** Larger rows move texts to data rows: one write unit, with a margin. */
export const MAX_INLINE_ROW_BYTES = 1_000;

/** Below DynamoDB's limit of 400 KiB, with room for the longest key. */
const MAX_PART_BYTES = 380 * 1024;

const DAY = 86_400_000;
/** Data outlives its row's retention by this much, to cover the wait for a claim. */
export const DATA_SPARE_MS = 60 * DAY;
/** At a claim, data must outlive the retention by the longest run. */
export const CLAIMED_DATA_SPARE_MS = 30 * DAY;

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isDataPointer = (value: unknown): value is DataPointer =>
  isObject(value) &&
  typeof value.in === 'string' &&
  Number.isSafeInteger(value.parts) &&
  Number.isSafeInteger(value.bytes) &&
  (value.parts as number) >= 1 &&
  (value.parts as number) <= 100;

export function pointersOf(row: Row, names: readonly DataName[] = dataNames): [DataName, DataPointer][] {
  return names.flatMap((name) => {
    const value = row[name];
    return isDataPointer(value) ? [[name, value] as [DataName, DataPointer]] : [];
  });
}

export const dataKeys = (jobId: string, pointer: DataPointer): string[] =>
  Array.from({ length: pointer.parts }, (_, part) => dataKey(jobId, pointer.in, part));

export const dataKey = (jobId: string, place: string, part: number): string =>
  `${jobId}#${place}${part === 0 ? '' : `~${part}`}`;

/** @internal */
export const ownerOfData = (key: string): string | undefined => {
  const at = key.indexOf('#');
  return at === -1 ? undefined : key.slice(0, at);
};

/** Never splits a character. */
export function partsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const parts: string[] = [];
  for (let from = 0; from < bytes.length || parts.length === 0; ) {
    let to = Math.min(bytes.length, from + MAX_PART_BYTES);
    // Bytes of the form 10xxxxxx continue a character.
    while (to < bytes.length && ((bytes[to] as number) & 0xc0) === 0x80) to--;
    parts.push(bytes.subarray(from, to).toString());
    from = to;
  }
  return parts;
}
