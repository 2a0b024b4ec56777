import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { commands as entries } from '../../lib/tools/cli/commands.ts';
import { createProgram } from '../../lib/tools/cli/program.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { anyEngine } from '../support/engines.ts';
import { fuzzRuns } from '../support/fuzz-runs.ts';
import { newJob } from '../support/jobs.ts';
import { row } from '../support/rows.ts';

/** These serve until they are stopped. */
const LEFT_OUT = ['dev', 'console', 'help'];
/** An odd address leads out of this machine, and a file may be anything. */
const ELSEWHERE = /--(queue-url|region|prices|file|worker|data)/;

const leaves = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
const nameOf = (command: Command): string[] =>
  command.parent === null ? [] : [...nameOf(command.parent), command.name()];

const context = { terminal: { columns: 80 } as Terminal, end: () => {} };
const names = entries.map(({ name }) => name).filter((name) => !LEFT_OUT.includes(name));
const commands = await Promise.all(
  names.map(async (name) => {
    const program = await createProgram(context, [name]);
    return program.commands.filter((command) => command.name() === name).flatMap(leaves);
  }),
).then((all) => all.flat());

const ids = ['pending', 'running', 'done', 'failed', 'bad', 'leader:reaper', 'absent'];
const text = fc.oneof(
  fc.constantFrom('', ' ', '0', '-1', '1e9', '0.0001', 'NaN', '1h30m', '5x', '2027-01-31T09:00:00Z'),
  fc.constantFrom(...ids, 'email', '{"to":"ada"}', '[', 'null', '--', '-', '../..', 'é\u0000', '%s', '$(x)'),
  // `init` writes where it is told to, and that must not be outside the folder of this suite.
  fc.string({ maxLength: 20 }).filter((word) => !word.startsWith('/')),
  fc.integer().map(String),
);

const optionOf = (option: Option) =>
  option.required || option.optional
    ? text.map((value) => [`${option.long}=${value}`])
    : fc.constant([option.long ?? '']);

/** A command with some of its own options, odd values, and odd or known names. */
const commandLine = fc.constantFrom(...commands).chain((command) => {
  const options = command.options.filter(({ flags }) => !ELSEWHERE.test(flags));
  return fc
    .tuple(
      fc.array(text, { maxLength: 3 }),
      fc
        .subarray([...options], { maxLength: Math.min(4, options.length) })
        .chain((chosen) => fc.tuple(...chosen.map(optionOf))),
    )
    .map(([words, given]) => [...nameOf(command), ...words, ...given.flat()]);
});

/** What stands behind `--` is a name, whatever it looks like. */
const optionsOf = (args: readonly string[]) =>
  args.includes('--') ? args.slice(0, args.indexOf('--')) : args;

describe('whatever is typed after leasehold', () => {
  let system: CliSystem;
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-fuzz-'));
  /** So deep that no word of twenty characters climbs out of it. */
  const directory = join(folder, ...'abcdefgh');

  beforeAll(async () => {
    mkdirSync(directory, { recursive: true });
    system = await createCliSystem(anyEngine());
    const { store } = system;
    const claim = (jobId: string) => ({ jobId, owner: `w/${jobId}`, attempt: 1, startedAt: Date.now() });
    const dispatch = planDispatch(Date.now(), Date.now(), defaultSettings);
    await store.schedule(newJob('pending'), dispatch);
    for (const jobId of ['running', 'done', 'failed'])
      await store.claim({ job: newJob(jobId), owner: `w/${jobId}` });
    await store.complete(claim('done'));
    await store.fail(claim('failed'), { errors: 1, lastError: 'broken' });
    await system.put(row({ jobId: 'bad', attempt: 'three' }));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await system.close();
  });

  it.each(['é\u0000', 'taken/inside', 'x'.repeat(300)])(
    'init says that it cannot write %j',
    async (folder) => {
      writeFileSync(join(directory, 'taken'), '');
      const { code, stderr } = await system.run(['init', folder], { directory });
      expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be written')]);
      expect(stderr).not.toMatch(/\n\s+at /);
    },
  );

  it('ends with a code that means something, and never with a stack trace', async () => {
    await fc.assert(
      fc.asyncProperty(commandLine, fc.option(fc.boolean(), { nil: undefined }), async (args, answer) => {
        const { code, stdout, stderr } = await system.run(args, {
          interrupted: AbortSignal.timeout(2000),
          input: '{"type":"email","payload":1}\nnot json\n',
          answer,
          directory,
        });
        expect([0, 1, 2]).toContain(code);
        expect(stderr).not.toMatch(/\n\s+at .*[/:]\d+/);
        if (code !== 0) expect(stdout + stderr).not.toBe('');
        if (code === 0 && optionsOf(args).includes('--json')) JSON.parse(stdout);
      }),
      fuzzRuns(60),
    );
  });
});
