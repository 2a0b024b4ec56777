import { cutToBytes } from '../../protocol/rows/json-text.ts';
import { SchemaRefusedError } from './cell/check-schema.ts';

/** How many causes of a cause are told. */
const MAX_CAUSES = 3;
/** How much of an error a log line shows; the row has more. */
const LOGGED_BYTES = 1024;

const UNREADABLE = 'thrown value: unreadable';

/** An error as a row keeps it: name, message, where it was thrown, and what caused it. */
export const describeError = (thrown: unknown): string => readable(() => describe(thrown, 0));

/** Anything can be thrown, an error with a stack that is a number among them: it is charged like any other. */
function readable(read: () => string): string {
  try {
    return read();
  } catch {
    return UNREADABLE;
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

/** An error as a log line may show it: a schema's complaint can repeat the payload, which is never logged. */
export const loggableError = (thrown: unknown): string =>
  cutToBytes(
    readable(() =>
      thrown instanceof SchemaRefusedError
        ? `${thrown.name}: see the job's lastError`
        : (headlineOf(thrown).split('\n')[0] ?? ''),
    ),
    LOGGED_BYTES,
  );

function headlineOf(thrown: unknown): string {
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`;
  return `thrown value: ${typeof thrown === 'object' ? JSON.stringify(thrown) : String(thrown)}`;
}
