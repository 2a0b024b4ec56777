import { systemClock, systemRandom } from '../../../aws/clock.ts';
import type { Terminal } from './terminal.ts';

const USUAL = { columns: 80, rows: 24 };

/** The first Ctrl-C asks the command to end, the second ends the process. */
export function processTerminal(): Terminal {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort(new Error('interrupted')));
  let endsWithReader = true;
  let isOutputLost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    isOutputLost = true;
    // A reader such as `head` that stops early is not an error.
    if (endsWithReader && error.code === 'EPIPE') process.exit(0);
  });
  process.stderr.on('error', () => {
    isOutputLost = true;
  });
  const { env } = process;
  return {
    write: (text) => void process.stdout.write(text),
    erase: (lines) => void process.stdout.write(cursorUpAndClear(lines)),
    note: (text) => void process.stderr.write(text),
    input: process.stdin,
    environment: env,
    directory: process.cwd(),
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    isScreen: process.stdout.isTTY === true,
    hasColors: wantsColors(env, process.stdout.isTTY === true),
    columns: columnsOf(process.stdout),
    rows: process.stdout.rows || USUAL.rows,
    noteHasColors: wantsColors(env, process.stderr.isTTY === true),
    noteColumns: columnsOf(process.stderr),
    clock: systemClock,
    random: systemRandom,
    interrupted: interrupt.signal,
    async ask(question) {
      const { ask } = await import('./ask.ts');
      return ask(question, process.stdin, process.stderr);
    },
    outliveReader() {
      endsWithReader = false;
      return () => isOutputLost;
    },
  };
}

const columnsOf = ({ isTTY, columns }: { readonly isTTY: boolean; readonly columns: number }): number =>
  isTTY === true ? columns || USUAL.columns : Number.POSITIVE_INFINITY;

const cursorUpAndClear = (lines: number) => `\u001b[${lines}A\u001b[0J`;

/** NO_COLOR overrides FORCE_COLOR, which overrides detection. */
function wantsColors(env: Readonly<Record<string, string | undefined>>, isScreen: boolean): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '' && env.FORCE_COLOR !== '0') return true;
  return isScreen && env.TERM !== 'dumb';
}
