import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commands } from '../../lib/tools/cli/commands.ts';
import { createProgram } from '../../lib/tools/cli/program.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';

const root = join(import.meta.dirname, '..', '..');

/** The modules that a command line loads: files of ours by their path, packages by their name. */
function modulesOf(args: readonly string[]): string[] {
  const hook = `
    import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) { if (url.startsWith('file:')) console.error('LOADED ' + url); return next(url, context); } });`;
  const { stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, 'bin/leasehold.ts', ...args],
    { cwd: root, encoding: 'utf8' },
  );
  const loaded = [...stderr.matchAll(/^LOADED file:\/\/(.+)$/gm)].map(([, file = '']) => file);
  return [...new Set(loaded.map(nameOf))].sort();
}

const nameOf = (file: string): string =>
  /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(file)?.[1] ??
  file.slice(root.length + 1);

/** What the help needs, and not one module more. */
const HELP = [
  'bin/leasehold.ts',
  'commander',
  'lib/aws/clock.ts',
  'lib/node-version.ts',
  'lib/protocol/errors.ts',
  'lib/tools/cli/cli-error.ts',
  'lib/tools/cli/commands.ts',
  'lib/tools/cli/program.ts',
  'lib/tools/cli/run-cli.ts',
  'lib/tools/cli/terminal/guarded-terminal.ts',
  'lib/tools/cli/terminal/process-terminal.ts',
  'lib/tools/inspect/printable.ts',
  'lib/wire/leasehold-error.ts',
  'package.json',
  'picocolors',
];

it('the help loads what it prints, and no command', () => {
  expect(modulesOf(['--help'])).toEqual(HELP);
});

it('a command loads itself and no other; its help needs no SDK', () => {
  const loaded = modulesOf(['send', '--help']);
  expect(loaded.filter((name) => name.startsWith('lib/tools/cli/commands'))).toEqual([
    'lib/tools/cli/commands.ts',
    'lib/tools/cli/commands/send.ts',
  ]);
  expect(loaded.filter((name) => /aws-sdk|smithy/.test(name))).toEqual([]);
});

it('every entry of the list loads the command of its name', async () => {
  for (const { name, summary } of commands) {
    const program = await createProgram({ terminal: { columns: 80 } as Terminal, end: () => {} }, [name]);
    const command = program.commands.find((each) => each.name() === name);
    expect([
      name,
      command?.summary(),
      (command?.options.length ?? 0) + (command?.commands.length ?? 0),
    ]).toEqual([name, summary, expect.any(Number)]);
    expect([name, command?.description()]).not.toEqual([name, '']);
  }
});
