import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commands } from '../../lib/cli/commands/index.ts';
import { createProgram } from '../../lib/cli/program.ts';
import type { Terminal } from '../../lib/cli/terminal.ts';

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
  'lib/cli/cli-error.ts',
  'lib/cli/commands/index.ts',
  'lib/cli/guarded-terminal.ts',
  'lib/cli/process-terminal.ts',
  'lib/cli/program.ts',
  'lib/cli/run-cli.ts',
  'lib/inspect/printable.ts',
  'lib/node-version.ts',
  'lib/wire/leasehold-error.ts',
  'package.json',
  'picocolors',
];

it('the help loads what it prints, and no command', () => {
  expect(modulesOf(['--help'])).toEqual(HELP);
});

it('a command loads itself and no other; its help needs no SDK', () => {
  const loaded = modulesOf(['send', '--help']);
  expect(loaded.filter((name) => name.startsWith('lib/cli/commands/'))).toEqual([
    'lib/cli/commands/index.ts',
    'lib/cli/commands/send.ts',
  ]);
  expect(loaded.filter((name) => /aws-sdk|smithy/.test(name))).toEqual([]);
});

it('Tab loads the command that is completed', () => {
  const loaded = modulesOf(['complete', '--', 'ls', '--st']);
  expect(loaded.filter((name) => name.startsWith('lib/cli/commands/'))).toEqual([
    'lib/cli/commands/index.ts',
    'lib/cli/commands/ls.ts',
  ]);
});

it('every entry of the list loads the command of its name', async () => {
  for (const { name, says } of commands) {
    const program = await createProgram({ terminal: { columns: 80 } as Terminal, end: () => {} }, [name]);
    const command = program.commands.find((each) => each.name() === name);
    expect([
      name,
      command?.summary(),
      (command?.options.length ?? 0) + (command?.commands.length ?? 0),
    ]).toEqual([name, says, expect.any(Number)]);
    expect([name, command?.description()]).not.toEqual([name, '']);
  }
});
