import { cutToBytes } from '../protocol/rows/json-text.ts';
import { SchemaRefusedError } from './check-schema.ts';

const MAX_CAUSES = 3;
const LOGGED_BYTES = 1024;

const UNREADABLE = 'thrown value: unreadable';

export const describeError = (thrown: unknown): string => readOr(UNREADABLE, () => describe(thrown, 0));

/** Even reading a thrown value can throw, from a getter or a proxy. */
export function readOr<Value>(orElse: Value, read: () => Value): Value {
  try {
    return read();
  } catch {
    return orElse;
  }
}

function describe(thrown: unknown, depth: number): string {
  const headline = headlineOf(thrown);
  if (!(thrown instanceof Error)) return headline;
  const trace = thrown.stack?.slice(thrown.stack.search(/^\s+at /m)) ?? '';
  const frames = thrown.stack?.match(/^\s+at /m) ? `\n${trace}` : '';
  const cause =
    thrown.cause === undefined || depth >= MAX_CAUSES
      ? ''
      : `\ncaused by ${describe(thrown.cause, depth + 1)}`;
  return `${headline}${frames}${cause}`;
}

export const SEE_LAST_ERROR = "see the job's lastError";

/** Schema errors can quote the payload, which is never logged. */
export const loggableError = (thrown: unknown): string =>
  cutToBytes(
    readOr(UNREADABLE, () =>
      thrown instanceof SchemaRefusedError
        ? `${thrown.name}: ${SEE_LAST_ERROR}`
        : (headlineOf(thrown).split('\n')[0] ?? ''),
    ),
    LOGGED_BYTES,
  );

function headlineOf(thrown: unknown): string {
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`;
  return `thrown value: ${typeof thrown === 'object' ? JSON.stringify(thrown) : String(thrown)}`;
}
