import type { KilledFor } from '../cells.ts';

/** How a process ended, as its parent is told. */
export interface CellExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It could not be started at all. */
  readonly error?: string;
}

/** The share of a cell's memory from which an end that nobody explains is put down to it. */
const NEAR = 0.8;
const ABORTED = 134;

const CHANNEL_CLOSED = 'a handler, or what it called, closed the channel to its host';

const OURS: Readonly<Record<KilledFor, string>> = {
  'ignored signal': 'killed: a handler did not stop within killAfterMs of its signal',
  stalled: 'killed: a handler blocked the event loop for longer than maxStallMs',
  memory: 'out of memory: killed before its memory was exhausted',
  closing: 'ended with its host',
};

/** Says in a line or two why a cell died, from all that is known; the first line is what `explain` shows. */
export function explainDeath(known: {
  readonly ending: CellExit;
  readonly killedFor?: KilledFor;
  readonly lastWords?: string;
  /** Its host ended it because nothing could be heard from it any more. */
  readonly wasDeaf?: boolean;
  /** What it had when it was last looked at, and what it may have. */
  readonly memory: number;
  readonly memoryBytes: number;
}): string {
  const { ending, killedFor, memory, memoryBytes } = known;
  if (killedFor !== undefined) return OURS[killedFor];
  if (ending.error !== undefined) return `its process could not be started: ${ending.error}`;
  const words = readWords(known.lastWords);
  if (words?.error !== undefined)
    return words.origin === 'unhandledRejection'
      ? `unhandled rejection: ${words.error}`
      : `uncaught exception: ${words.error}`;
  if (words?.origin === 'disconnect') return CHANNEL_CLOSED;
  const share = memory / memoryBytes;
  if (ending.signal === 'SIGABRT' || ending.code === ABORTED) return explainAbort(words, share);
  if (ending.signal === 'SIGKILL')
    return share >= NEAR
      ? 'out of memory (killed by the kernel)'
      : known.wasDeaf
        ? CHANNEL_CLOSED
        : 'killed (SIGKILL) by somebody else than its host';
  if (ending.signal !== null) return `killed (${ending.signal})`;
  const before = words?.survived === undefined ? '' : `\nbefore that, its process survived ${words.survived}`;
  return `a handler, or what it called, ended the process with exit code ${ending.code}${before}`;
}

/** V8 leaves a report, `process.abort()` last words; what aborts without either is native code, or memory that was short for both. */
function explainAbort(words: LastWords | undefined, share: number): string {
  if (words?.origin === 'abort') return 'aborted by process.abort()';
  if (words?.fatal !== undefined)
    return /out of memory/i.test(words.fatal) ? 'out of memory (heap)' : `aborted by V8: ${words.fatal}`;
  return share >= NEAR ? 'out of memory (heap)' : 'aborted (SIGABRT) by native code; stderr may say more';
}

interface LastWords {
  readonly origin?: string;
  readonly error?: string;
  readonly fatal?: string;
  /** An exception that nobody caught and somebody listened for. */
  readonly survived?: string;
}

/** The last words come from a process that was falling apart. */
function readWords(text: string | undefined): LastWords | undefined {
  if (text === undefined) return undefined;
  try {
    const words: unknown = JSON.parse(text);
    if (typeof words !== 'object' || words === null) return undefined;
    const { origin, error, fatal, survived } = words as Record<string, unknown>;
    const said = (value: unknown) => (typeof value === 'string' ? value : undefined);
    return { origin: said(origin), error: said(error), fatal: said(fatal), survived: said(survived) };
  } catch {
    return undefined;
  }
}
