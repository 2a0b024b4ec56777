import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { widthOf } from '../../lib/tools/cli/terminal/fit-text.ts';
import { bareEnvironment } from './cli.ts';

/** What one command line left on the screen. */
export interface PtyRun {
  readonly args: readonly string[];
  readonly code: number;
  /** As it was written, with colors. */
  readonly raw: string;
  /** The lines without colors, as the program meant them: one that is wider than the screen is still one. */
  readonly lines: readonly string[];
}

export interface PtyOptions {
  readonly columns: number;
  readonly rows?: number;
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const commands = join(import.meta.dirname, 'pty-commands.ts');
const bin = join(import.meta.dirname, '..', '..', 'bin', 'leasehold.ts');

/** Runs command lines one after the other in one process at a real pseudo-terminal. */
export async function runInPty(
  commandLines: readonly (readonly string[])[],
  options: PtyOptions,
): Promise<PtyRun[]> {
  const environment = { ...options.environment, TEST_COMMANDS: JSON.stringify(commandLines) };
  const { output } = await inPty([commands], { ...options, environment });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the marks
  const runs = [...output.matchAll(/\u0001([^\u0001]*)\u0002(\d+)\u0003/g)];
  if (runs.length !== commandLines.length) throw new Error(`${runs.length} runs in: ${output}`);
  return runs.map(([, raw = '', code], i) => ({
    args: commandLines[i] ?? [],
    code: Number(code),
    raw,
    lines: stripVTControlCharacters(raw).replaceAll('\r', '').split('\n').slice(0, -1),
  }));
}

/** Runs one command line, and types a text once the screen shows another. */
export const typeInPty = (
  args: readonly string[],
  options: PtyOptions & { readonly when: RegExp; readonly typed: string },
): Promise<{ readonly output: string; readonly code: number }> => inPty([bin, ...args], options);

/** By `script` of util-linux, which every Linux has: a pseudo-terminal without a package that must be compiled. */
function inPty(
  program: readonly string[],
  options: PtyOptions & { readonly when?: RegExp; readonly typed?: string },
): Promise<{ readonly output: string; readonly code: number }> {
  const { columns, rows = 40, directory, environment, when, typed = '' } = options;
  const quoted = [process.execPath, ...program].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  return new Promise((resolve, reject) => {
    const child = spawn(
      'script',
      ['-qec', `stty cols ${columns} rows ${rows}; exec ${quoted.join(' ')}`, '/dev/null'],
      {
        cwd: directory,
        env: { ...bareEnvironment(), TZ: 'UTC', TERM: 'xterm', ...environment },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    let output = '';
    let isTyped = false;
    child.stdout.on('data', (chunk) => {
      output += chunk;
      if (when === undefined || isTyped || !when.test(output)) return;
      isTyped = true;
      child.stdin.write(typed);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ output, code: code ?? -1 }));
  });
}

/** What a screen shows in the end: it wraps what is too wide, and obeys the cursor moves that the command line makes. */
export function screenOf(output: string, columns: number): string[] {
  const screen: string[] = [];
  let row = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what moves a cursor
  for (const [, up, rest, text] of output.matchAll(/\u001b\[(?:(\d+)A|([0-9;?]*[a-zA-Z]))|([^\u001b]+)/g)) {
    if (up !== undefined) row -= Number(up);
    else if (rest === '0J') screen.length = row;
    else if (text !== undefined)
      for (const piece of text.replaceAll('\r', '').split(/(?<=\n)/)) {
        screen[row] = (screen[row] ?? '') + piece.replace('\n', '');
        const height = Math.max(1, Math.ceil(widthOf(screen[row] ?? '') / columns));
        if (piece.endsWith('\n')) row += height;
      }
  }
  return screen.filter((line) => line !== undefined);
}
