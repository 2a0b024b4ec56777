import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import { scheduleNext } from '../../lib/protocol/store/reaper-row.ts';
import { type CliSystem, createCliSystem, runInProcess } from '../support/cli.ts';
import { isDeep } from '../support/depth.ts';
import { anyEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';

/** Longer than the suite takes on the busiest machine. */
const HOUR = 3_600_000;

interface Case {
  readonly args: readonly string[];
  readonly code: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly input?: string;
}

/** Good ones are run as processes, as their users run them; cli-json.test.ts tries every command. */
const cases: readonly Case[] = [
  { args: ['send', 'email', '-', '--json'], input: '{"to":"ada"}', code: 0, stdout: '"outcome":"sent"' },
  { args: ['take-back', 'taken'], code: 0, stdout: 'which is fenced' },
  { args: ['show'], code: 2, stderr: "missing required argument 'id'" },
  { args: ['ls', '--older-than', 'often'], code: 2, stderr: 'Give a duration' },
  { args: ['show', ''], code: 2, stderr: 'A job id has at least one character' },
  { args: ['ls', '--limit', 'all'], code: 2, stderr: 'whole number' },
  { args: ['stats', 'now'], code: 2, stderr: 'too many arguments' },
  { args: ['revive', 'held'], code: 1, stderr: 'cannot revive a running job' },
  { args: ['take-back', 'nobody'], code: 1, stderr: "There is no job 'nobody'" },
  { args: ['doctor', '--sweep', '--repair'], code: 2, stderr: 'either --repair or --sweep' },
  { args: ['doctor', '--queue-url', 'http://127.0.0.1:1/q'], code: 2, stdout: 'could not be checked' },
  { args: ['plan'], code: 2, stderr: 'Give two of' },
];

describe('the process', () => {
  let system: CliSystem;
  beforeAll(async () => {
    system = await createCliSystem(anyEngine());
    const claim = async (jobId: string, owner: string) => {
      const outcome = await system.store.claim({
        job: newJob(jobId, { type: 'email', leaseMs: HOUR }),
        owner,
      });
      if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
      return claimOf(outcome.job);
    };
    await claim('held', 'worker-a/1');
    await claim('taken', 'worker-b/1');
    const parts = { table: system.table, clock: systemClock, settings: { shards: 8 } };
    const now = systemClock.now();
    const promised = { wakeAt: now + 600_000, holder: 'reaper/1', term: 1, gaugedAt: now, wholeAt: now };
    await scheduleNext(parts, { wake: 'w', ...promised }, undefined);
  });
  afterAll(() => system.close());

  for (const { args, code, stdout = '', stderr = '', input } of cases)
    it(`ends '${args.join(' ')}' with ${code}`, async () => {
      const start = isDeep || code === 0 ? system.spawn : system.run;
      const run = await start(args, { input });
      expect(run.stdout).toContain(stdout);
      expect(run.stderr).toContain(stderr);
      expect(run.code).toBe(code);
    });

  it('stops watching on Ctrl-C, without an error', async () => {
    const run = await system.spawn(['stats', '--watch', '--every', '1h', '--json', '--type', 'email'], {
      started: (child) => child.kill('SIGINT'),
    });
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(run.stdout.trim().split('\n')).toHaveLength(1);
  });

  it('serves a console until Ctrl-C', async () => {
    const run = await system.spawn(['console', '--json'], { started: (child) => child.kill('SIGINT') });
    expect(run.json<{ url: string }>().url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=/);
    expect(run.code).toBe(0);
    expect((await system.run(['console', '--port', 'seven'])).code).toBe(2);
  });

  it('shows an example in the help of every command', async () => {
    const { stdout } = await runInProcess(['--help']);
    const names = [...stdout.matchAll(/^ {2}([a-z]+)[ |]/gm)].map((match) => match[1] ?? '');
    expect(names.length).toBeGreaterThan(13);
    for (const name of names.filter((each) => each !== 'help')) {
      const help = await runInProcess([name, '--help']);
      expect([name, help.code, help.stdout.includes('Examples:')]).toEqual([name, 0, true]);
    }
  });
});
