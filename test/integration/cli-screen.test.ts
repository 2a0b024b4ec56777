import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { type Claim, claimOf } from '../../lib/protocol/job.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { widthOf } from '../../lib/tools/cli/terminal/fit-text.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { anyEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';
import { type PtyRun, runInPty, screenOf, typeInPty } from '../support/pty.ts';

const HOUR = 3_600_000;
const WORKER = 'ip-10-0-13-207.eu-west-1.compute.internal-17-mt3k9xAbCdEf';
const UUID = '3f0c1d9e-7f3b-4c58-9d7a-0f0c6f1b2a3d';
/** Moves the cursor, clears the screen, sets the title, turns the text around, and is wide. */
const HOSTILE =
  'Error: \u001b[2J\u001b[1;1H\u001b]0;owned\u0007\u202egnp.exe 日本語の\u009bエラー\tand more than a line holds, in one long sentence\n    at hostile (/srv/app/jobs.ts:41:11)';

/** What an operator reads; each is run at both widths. */
const looks: readonly (readonly string[])[] = [
  ['ls'],
  ['ls', '--wide'],
  ['ls', '--status', 'failed'],
  ['ls', '--status', 'sleeping'],
  ['show', 'poison'],
  ['show', 'hostile'],
  ['show', 'taken'],
  ['show', 'hostile', '--row'],
  ['stats', '--workers'],
  ['stats'],
  ['doctor', '--no-scan'],
  ['doctor', '--sweep', '--dry-run'],
  ['revive', '--type', 'send-invoice', '--dry-run'],
  ['plan', '--rate', '10', '--duration', '2m'],
  ['show', 'nobody'],
];
const helps = ['', ...['send', 'ls', 'show', 'stats', 'revive', 'doctor', 'dev', 'plan', 'work']].map(
  (name) => [name, '--help'].filter((word) => word !== ''),
);

describe('on a screen', () => {
  let system: CliSystem;
  const runs = new Map<number, readonly PtyRun[]>();
  const at = (columns: number, ...args: readonly string[]): PtyRun => {
    const run = runs.get(columns)?.find((each) => each.args.join(' ') === args.join(' '));
    if (run === undefined) throw new Error(`'${args.join(' ')}' was not run`);
    return run;
  };
  const claim = async (jobId: string, type = 'send-invoice'): Promise<Claim> => {
    const job = newJob(jobId, { type, leaseMs: HOUR });
    const outcome = await system.store.claim({ job, owner: `${WORKER}/${jobId.slice(0, 8)}` });
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return claimOf(outcome.job);
  };

  beforeAll(async () => {
    system = await createCliSystem(anyEngine());
    const { store } = system;
    await claim(UUID, 'nightly-customer-report-for-the-finance-department');
    await claim('invoice-1');
    await store.schedule(newJob('later'), planDispatch(Date.now(), Date.now() + 2 * HOUR, defaultSettings));
    await store.fail(await claim('hostile'), { errors: 1, lastError: HOSTILE });
    const first = await claim('poison');
    const again = await store.restart(first, {
      ...{ owner: `${WORKER}/second`, leaseMs: HOUR, crashes: 2, releases: 0 },
      ...{ lastError: 'crashed: out of memory (heap)', diedAt: Date.now() - 120 },
    });
    if (again.outcome !== 'restarted') throw new Error(again.outcome);
    await store.fail(claimOf(again.job), {
      errors: 0,
      crashes: 3,
      lastError: 'crashed: out of memory (heap)',
    });
    await claim('taken');
    await store.takeBack('taken');
    for (const columns of [80, 120])
      runs.set(columns, await runInPty([...looks, ...helps], { columns, environment: system.environment }));
  }, 120_000);
  afterAll(() => system.close());

  it.each([80, 120])('no line is wider than %d columns, and none moves the cursor', (columns) => {
    for (const { args, raw, lines } of runs.get(columns) ?? []) {
      if (args.includes('--wide')) continue;
      for (const line of lines) expect([args, line, widthOf(line) <= columns]).toEqual([args, line, true]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colors alone may be left
      const others = raw.replaceAll(/\u001b\[\d{1,2}m|\r\n/g, '');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
      expect([args, others.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/g)]).toEqual([args, null]);
    }
  });

  it('ids stay whole, columns give way, and what is left out is named', () => {
    const narrow = at(80, 'ls');
    expect(narrow.lines).toContainEqual(
      expect.stringMatching(new RegExp(`^${UUID}  nightly-.*…\\S+ +running`)),
    );
    expect(narrow.lines.at(-1)).toMatch(/^\d jobs; --wide shows .*OWNER/);
    const wider = at(120, 'ls');
    expect(wider.lines[0]).toMatch(/^JOB +TYPE +STATUS +# +FOR +OWNER +STATE$/);
    expect(wider.lines).toContainEqual(
      expect.stringMatching(/^invoice-1 .* ip-10-0\S*…\S*Ef +lease ends in/),
    );
    expect(at(80, 'ls', '--wide').lines).toContainEqual(
      expect.stringContaining(`${WORKER}/${UUID.slice(0, 8)}`),
    );
  });

  it('--watch draws over what it drew, and ends with Ctrl-C', async () => {
    const { output, code } = await typeInPty(['stats', '--watch', '--every', '100ms'], {
      ...{ columns: 80, rows: 24, environment: system.environment },
      ...{ when: /(Ctrl-C to stop.*){3}/s, typed: '\u0003' },
    });
    const screen = screenOf(output, 80).filter((line) => line.includes('Ctrl-C to stop'));
    expect([code, screen.length]).toEqual([0, 1]);
  });

  it('in a pipe a table is whole, without colors, and there is no progress bar', async () => {
    const run = await system.run(['ls']);
    expect(run.stdout).toContain(`${WORKER}/${UUID.slice(0, 8)}`);
    expect(run.stdout).not.toContain('\u001b');
    const sent = await system.run(['send', 'email', '--file', '-'], { input: '{"a":1}\n{"a":2}\n' });
    expect([sent.stdout, sent.stderr]).toEqual(['sent 2 jobs\n', '']);
  });
});
