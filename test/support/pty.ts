import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
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

/** By `script` of util-linux, which every Linux has: a pseudo-terminal without a package that must be compiled. */
function inPty(program: readonly string[], options: PtyOptions): Promise<{ readonly output: string }> {
  const { columns, rows = 40, directory, environment } = options;
  const quoted = [process.execPath, ...program].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  return new Promise((resolve, reject) => {
    const child = spawn(
      'script',
      ['-qec', `stty cols ${columns} rows ${rows}; exec ${quoted.join(' ')}`, '/dev/null'],
      {
        cwd: directory,
        env: { ...bareEnvironment(), TZ: 'UTC', TERM: 'xterm', ...environment },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.on('error', reject);
    child.on('close', () => resolve({ output }));
  });
}
