import { readSync, writeSync } from 'node:fs';
import { cutToBytes } from '../../protocol/rows/json-text.ts';

// Handlers may replace the global.
const { stringify } = JSON;

export const REPORT_DESCRIPTOR = 5;
export const REPORT_BYTES = 8 * 1024;

export interface ExitReport {
  readonly origin?: string;
  readonly error?: string;
  readonly fatal?: string;
  /** An uncaught exception that a listener survived. */
  readonly survived?: string;
}

export type ExitReporter = ReturnType<typeof createExitReporter>;

/** Writes a cell's exit report to a file, because its channel may be lost. */
export function createExitReporter(descriptor = REPORT_DESCRIPTOR) {
  let isWritten = false;
  const writeText = (text: string) => writeSync(descriptor, `${text}\0`, 0);
  return {
    /** Later reports are consequences of the first. */
    write(report: ExitReport & { readonly jobId?: string; readonly code?: number }): void {
      if (!isWritten) writeText(cutToBytes(stringify(report), REPORT_BYTES - 1));
      isWritten = true;
    },
    clear(): void {
      isWritten = false;
      writeText('');
    },
  };
}

/** Not set by Node options, which child processes would inherit. */
export function reportFatalErrors(): void {
  const { report, platform } = process;
  if (report === undefined) return;
  Object.assign(report, { compact: true, excludeNetwork: true, excludeEnv: true });
  // Lambda's /dev links only the first three descriptors.
  report.directory = platform === 'linux' ? '/proc/self/fd' : '/dev/fd';
  report.filename = String(REPORT_DESCRIPTOR);
  report.reportOnFatalError = true;
}

/** Untrusted: written by a dying process. */
export function readExitReport(descriptor: number): ExitReport | undefined {
  const bytes = Buffer.alloc(REPORT_BYTES);
  const [text = ''] = bytes
    .toString('utf8', 0, readSync(descriptor, bytes, 0, REPORT_BYTES, 0))
    .split('\0', 1);
  const fatal = /^\{"header":.*?"event":"([^"]*)"/.exec(text)?.[1];
  if (fatal !== undefined) return { origin: 'fatal', fatal };
  try {
    const { origin, error, survived } = JSON.parse(text) as Record<string, unknown>;
    const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
    return { origin: textOf(origin), error: textOf(error), survived: textOf(survived) };
  } catch {
    return undefined;
  }
}
