import { writeSync } from 'node:fs';

/** What a measured process tells: written at once and whole, so that nothing is lost when it is killed. */
export type ReportLine =
  | { readonly event: 'ready' }
  | {
      readonly event: 'start' | 'end' | 'aborted';
      readonly id: string;
      readonly at: number;
      readonly pid?: number;
    }
  | { readonly event: 'reclaimed'; readonly jobs: number }
  | { readonly event: 'stats'; readonly stats: ProcessStats }
  | { readonly event: 'note'; readonly text: string };

/** What a process has used since it began: requests to its store, processor time, memory, and waits. */
export interface ProcessStats {
  readonly requests: number;
  readonly cpuMs: number;
  readonly rssBytes: number;
  readonly latenciesMs: readonly number[];
}

export function tell(line: ReportLine): void {
  try {
    writeSync(1, `${JSON.stringify(line)}\n`);
  } catch (error) {
    // A full pipe asks for patience; a closed one means that nobody listens any more.
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') tell(line);
  }
}
