import type { JsonValue } from '../../wire/message.ts';
import { NotJsonError, TooLargeError } from '../errors.ts';

/** The value as JSON text, refused when it is not JSON or too large to be kept. */
export function toJsonText(what: string, value: JsonValue, limit: number): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new NotJsonError(what, error);
  }
  if (text === undefined) throw new NotJsonError(what, new TypeError(`it is a ${typeof value}`));
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) throw new TooLargeError(what, bytes, limit);
  return text;
}

/**
 * The text cut to a number of bytes, never through a character, and saying so where it was cut. Half a surrogate pair,
 * which UTF-8 cannot say, becomes a replacement character.
 */
export function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return bytes.toString();
  const mark = '… (cut)';
  // A cut through a character leaves a replacement character at the end, which is dropped.
  return (
    bytes
      .subarray(0, limit - Buffer.byteLength(mark))
      .toString()
      .replace(/\uFFFD$/u, '') + mark
  );
}

/** How much of an error the entry of a claim keeps; `lastError` has more of the last one. */
const CAUSE_BYTES = 120;

/** The first line of an error's text, short enough for twenty of them to stay on a row. */
export const shortCause = (error: string): string => cutToBytes(error.split('\n', 1)[0] ?? '', CAUSE_BYTES);
