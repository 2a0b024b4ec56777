import { appendFileSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';

/** What handlers really did, written by the handlers themselves: the only witness besides the table. */
export interface JournalLine {
  readonly event: 'start' | 'effect' | 'stored' | 'abort' | 'end';
  readonly jobId: string;
  readonly attempt: number;
  /** True time, whatever the process thinks the time is. */
  readonly at: number;
  readonly pid: number;
  /** The step that was done or stored; at the start, the step found in the checkpoint. */
  readonly step?: number;
  readonly reason?: string;
}

/** The variable that names the file. */
export const JOURNAL_FILE = 'JOURNAL_FILE';

/** Adds a line at once: it must be there even if the process dies in the next instant. */
export function writeJournal(
  line: Omit<JournalLine, 'at' | 'pid'>,
  file: string | undefined = process.env[JOURNAL_FILE],
): void {
  if (file === undefined) throw new Error(`${JOURNAL_FILE} is not set`);
  const at = performance.timeOrigin + performance.now();
  appendFileSync(file, `${JSON.stringify({ ...line, at, pid: process.pid })}\n`);
}

/** All lines, by time. A line that its writer could not finish is left out. */
export function readJournal(file: string): readonly JournalLine[] {
  if (!existsSync(file)) return [];
  const lines: JournalLine[] = [];
  for (const text of readFileSync(file, 'utf8').split('\n')) {
    try {
      if (text !== '') lines.push(JSON.parse(text));
    } catch {
      // Cut off by a crash.
    }
  }
  return lines.sort((a, b) => a.at - b.at);
}

/** Reads what was added since the last call. */
export function followJournal(file: string): () => readonly JournalLine[] {
  let descriptor: number | undefined;
  let position = 0;
  let rest = '';
  const buffer = Buffer.alloc(1 << 20);
  return () => {
    if (descriptor === undefined && !existsSync(file)) return [];
    descriptor ??= openSync(file, 'r');
    for (let read = -1; read !== 0; ) {
      read = readSync(descriptor, buffer, 0, buffer.length, position);
      position += read;
      rest += buffer.toString('latin1', 0, read);
    }
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    return lines.flatMap((line) => {
      try {
        return [JSON.parse(line) as JournalLine];
      } catch {
        return [];
      }
    });
  };
}
