import { closeSync, readSync } from 'node:fs';
import { openUnnamedFile } from './unnamed-file.ts';

/** Where the report's file is among the descriptors that a cell is started with. */
export const REPORT_DESCRIPTOR = 5;
/** The reason is at the beginning. */
const READ_BYTES = 512;

/** What Node writes when V8 gives up, at the host: messages of V8 itself go to stderr, which the host does not read. */
export interface FatalReport {
  readonly descriptor: number;
  /** Why V8 gave up, if it did. */
  read(): string | undefined;
  close(): void;
}

export function createFatalReport(folders?: readonly string[]): FatalReport {
  const descriptor = openUnnamedFile('report', 0, folders);
  return {
    descriptor,
    read() {
      const bytes = Buffer.alloc(READ_BYTES);
      const text = bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, READ_BYTES, 0));
      return /"event":"([^"]*)"/.exec(text)?.[1];
    },
    close: () => closeSync(descriptor),
  };
}

/** In the cell. Set here and not by options of Node, which whatever a handler starts would inherit. */
export function writeFatalReport(): void {
  const { report } = process;
  if (report === undefined) return;
  Object.assign(report, { compact: true, excludeNetwork: true, excludeEnv: true });
  report.directory = '/dev/fd';
  report.filename = String(REPORT_DESCRIPTOR);
  report.reportOnFatalError = true;
}
