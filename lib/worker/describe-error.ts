import { SchemaRefusedError } from './check-schema.ts';

/** How many causes of a cause are told. */
const MAX_CAUSES = 3;

/** An error as a row keeps it: name, message, where it was thrown, and what caused it. */
export function describeError(thrown: unknown, depth = 0): string {
  const headline = headlineOf(thrown);
  if (!(thrown instanceof Error)) return headline;
  const trace = thrown.stack?.slice(thrown.stack.search(/^\s+at /m)) ?? '';
  const frames = thrown.stack?.match(/^\s+at /m) ? `\n${trace}` : '';
  const cause =
    thrown.cause === undefined || depth >= MAX_CAUSES
      ? ''
      : `\ncaused by ${describeError(thrown.cause, depth + 1)}`;
  return `${headline}${frames}${cause}`;
}

/** An error as a log line may show it: a schema's complaint can repeat the payload, which is never logged. */
export const loggableError = (thrown: unknown): string =>
  thrown instanceof SchemaRefusedError
    ? `${thrown.name}: see the job's lastError`
    : (headlineOf(thrown).split('\n')[0] ?? '');

function headlineOf(thrown: unknown): string {
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`;
  try {
    return `thrown value: ${typeof thrown === 'object' ? JSON.stringify(thrown) : String(thrown)}`;
  } catch {
    return 'thrown value: unreadable';
  }
}
