import cliProgress from 'cli-progress';
import type { Output } from './output.ts';
import type { Terminal } from './terminal.ts';

export interface ProgressBar {
  update(done: number): void;
  end(): void;
}

/** Shown on stderr, only if it is a screen. */
export function createProgressBar(
  terminal: Terminal,
  output: Output,
  doing: string,
  total?: number,
): ProgressBar {
  if (!terminal.isInteractive || output.isJson) return { update: () => {}, end: () => {} };
  const bar = new cliProgress.SingleBar({
    format:
      total === undefined
        ? `${doing} {value} ({duration_formatted})`
        : `${doing} {bar} {value}/{total} ({eta_formatted} left)`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  });
  bar.start(total ?? 0, 0);
  return { update: (done) => bar.update(done), end: () => bar.stop() };
}
