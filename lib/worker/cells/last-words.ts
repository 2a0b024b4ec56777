import { readSync, writeSync } from 'node:fs';
import { cutToBytes } from '../../protocol/rows/json-text.ts';

// Handlers may replace the global.
const { stringify } = JSON;

export const WORDS_DESCRIPTOR = 5;
export const WORDS_BYTES = 8 * 1024;

/** What a cell reports as it dies. */
export interface Words {
  readonly origin?: string;
  readonly error?: string;
  /** Why V8 gave up. */
  readonly fatal?: string;
  /** An uncaught exception that a listener survived. */
  readonly survived?: string;
}

export type LastWords = ReturnType<typeof createLastWords>;

/** Writes a cell's last words to a file, because its channel may be lost. */
export function createLastWords(descriptor = WORDS_DESCRIPTOR) {
  let hasSpoken = false;
  const write = (text: string) => writeSync(descriptor, `${text}\0`, 0);
  return {
    /** Only the first words count; later ones are consequences. */
    say(words: Words & { readonly jobId?: string; readonly code?: number }): void {
      if (!hasSpoken) write(cutToBytes(stringify(words), WORDS_BYTES - 1));
      hasSpoken = true;
    },
    /** The process survived. */
    takeBack(): void {
      hasSpoken = false;
      write('');
    },
  };
}

/** V8's fatal errors go to the same file. Not set by Node options, which child processes would inherit. */
export function reportFatalErrors(): void {
  const { report, platform } = process;
  if (report === undefined) return;
  Object.assign(report, { compact: true, excludeNetwork: true, excludeEnv: true });
  // Lambda's /dev links only the first three descriptors.
  report.directory = platform === 'linux' ? '/proc/self/fd' : '/dev/fd';
  report.filename = String(WORDS_DESCRIPTOR);
  report.reportOnFatalError = true;
}

/** Untrusted: written by a dying process. */
export function readLastWords(descriptor: number): Words | undefined {
  const bytes = Buffer.alloc(WORDS_BYTES);
  const [text = ''] = bytes
    .toString('utf8', 0, readSync(descriptor, bytes, 0, WORDS_BYTES, 0))
    .split('\0', 1);
  const fatal = /^\{"header":.*?"event":"([^"]*)"/.exec(text)?.[1];
  if (fatal !== undefined) return { origin: 'fatal', fatal };
  try {
    const { origin, error, survived } = JSON.parse(text) as Record<string, unknown>;
    const said = (value: unknown) => (typeof value === 'string' ? value : undefined);
    return { origin: said(origin), error: said(error), survived: said(survived) };
  } catch {
    return undefined;
  }
}
