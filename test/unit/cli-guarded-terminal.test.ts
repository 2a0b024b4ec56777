import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { guardedTerminal } from '../../lib/tools/cli/terminal/guarded-terminal.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';
import { createPrinter } from '../../lib/tools/dev/demo/show.ts';
import { LOCAL_STATE_FILE, writeStateFile } from '../../lib/tools/dev/state-file.ts';
import { runInProcess } from '../support/cli.ts';

/** What a terminal is given to write when a command writes this. */
function printable(text: string, hasColors: boolean): string {
  const written: string[] = [];
  const terminal = { hasColors, write: (each: string) => written.push(each) };
  guardedTerminal(terminal as unknown as Terminal).write(text);
  return written.join('');
}

describe('text on a terminal', () => {
  it.each([
    ['a title', '\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
    ['a cursor', 'a\u001b[2Jb', 'a\\u001b[2Jb'],
    ['a carriage return, which hides what was before', 'rm -rf\rls', 'rm -rf\\u000dls'],
    ['the C1 form of an escape', '\u009b31m', '\\u009b31m'],
    ['a backspace and a delete', 'a\bb\u007f', 'a\\u0008b\\u007f'],
    ['hidden text', '\u001b[8mrm -rf', '\\u001b[8mrm -rf'],
    ['black text, which is invisible on black', '\u001b[30mrm -rf', '\\u001b[30mrm -rf'],
    ['a background in the color of the text', '\u001b[31m\u001b[41mrm', '\u001b[31m\\u001b[41mrm'],
    ['several styles at once', '\u001b[0;8mrm', '\\u001b[0;8mrm'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['lines and tabs', 'a\n\tb', 'a\n\tb'],
    ['letters of any language', 'Grüße, 世界 🙂', 'Grüße, 世界 🙂'],
  ])('has %s spelled out where it could do harm', (_, text, shown) => {
    expect(printable(text, true)).toBe(shown);
  });

  it('keeps colors on a screen that has them, and spells them out elsewhere', () => {
    expect(printable('\u001b[32mdone\u001b[39m', true)).toBe('\u001b[32mdone\u001b[39m');
    expect(printable('\u001b[32mdone\u001b[39m', false)).toBe('\\u001b[32mdone\\u001b[39m');
  });

  it('is so in every command, errors included', async () => {
    const { stderr, stdout } = await runInProcess(['a\u001b[2Jb']);
    expect(stdout + stderr).not.toContain('\u001b[2J');
    expect(stdout + stderr).toContain('\\u001b[2J');
  });
});

it('has control characters spelled out in what `dev` tells of jobs, too', () => {
  const written: string[] = [];
  const output = {
    isTTY: false,
    write: (text: string) => written.push(text),
  } as unknown as NodeJS.WriteStream;
  createPrinter(output)('job failed: \u001b]0;owned\u0007\u001b[2J');
  expect(written.join('')).toContain('job failed: \\u001b]0;owned\\u0007\\u001b[2J');
});

it('writes the state of a local stack for its owner alone, whatever was there', () => {
  const directory = mkdtempSync(join(tmpdir(), 'leasehold-state-'));
  const state = { pid: process.pid, tableName: 't', queueUrl: 'q', consoleUrl: 'c', environment: {} };
  const file = join(directory, LOCAL_STATE_FILE);
  writeStateFile(directory, state)();
  writeFileSync(file, 'old', { mode: 0o644 });
  const remove = writeStateFile(directory, state);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
  remove();
  // Somebody's link: what it points to is left alone.
  const elsewhere = join(directory, 'elsewhere');
  writeFileSync(elsewhere, 'theirs', { mode: 0o644 });
  symlinkSync(elsewhere, file);
  writeStateFile(directory, state);
  expect(readFileSync(elsewhere, 'utf8')).toBe('theirs');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  rmSync(directory, { recursive: true });
});
