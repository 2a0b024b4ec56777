import { NotJsonError, TooLargeError } from '../errors.ts';

// Handlers may replace it.
const { stringify } = JSON;

export function toJsonText(what: string, value: unknown, limit: number): string {
  let text: string | undefined;
  try {
    text = stringify(value);
  } catch (error) {
    throw new NotJsonError(what, error);
  }
  if (text === undefined) throw new NotJsonError(what, new TypeError(`it is a ${typeof value}`));
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) throw new TooLargeError(what, bytes, limit);
  return text;
}

/** Cuts between characters; lone surrogates become replacement characters. */
export function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return bytes.toString();
  const mark = '… (cut)';
  // A cut through a character leaves a replacement character, which is dropped.
  return (
    bytes
      .subarray(0, limit - Buffer.byteLength(mark))
      .toString()
      .replace(/\uFFFD$/u, '') + mark
  );
}

const MAX_ERROR_BYTES = 4096;

export const shortenedError = (error: string): string => cutToBytes(error, MAX_ERROR_BYTES);

const CAUSE_BYTES = 120;

/** Ten of them fit on a row. */
export const shortCause = (error: string): string => cutToBytes(error.split('\n', 1)[0] ?? '', CAUSE_BYTES);
