import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createFakeClock, type FakeClock } from '../../lib/testing/fake-clock.ts';
import { freePort } from '../../lib/tools/dev/engines/free-port.ts';
import { type CliSystem, createCliSystem, runInProcess } from '../support/cli.ts';
import { anyEngine, describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';

describeOnOneEngine('acting on jobs', (engine) => {
  let system: CliSystem;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = createFakeClock();
    system = await createCliSystem(engine, clock);
  });
  afterEach(() => system.close());

  const claim = async (jobId: string, owner = `worker-a/${jobId}`, type = 'email') => {
    const outcome = await system.store.claim({ job: newJob(jobId, { type }), owner });
    if (outcome.outcome !== 'claimed') throw new Error(`not claimed: ${outcome.outcome}`);
    return claimOf(outcome.job);
  };
  const fail = async (jobId: string, lastError: string, type = 'email') =>
    system.store.fail(await claim(jobId, `worker-a/${jobId}`, type), { errors: 1, lastError });
  const status = async (jobId: string) => (await system.store.read(jobId))?.status;
  /** Bodies waiting in a queue. */
  const bodies = async (url = system.queueUrl) => {
    const seen: string[] = [];
    for (let left = 5; left > 0; left--) {
      const reply = await system.sqs.send(
        new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10 }),
      );
      seen.push(...(reply.Messages ?? []).map((message) => message.Body ?? ''));
    }
    return seen.sort();
  };

  describe('revive', () => {
    it('runs failed and cancelled jobs again, with a hint each, and goes on past one that it must refuse', async () => {
      await fail('a', 'boom');
      await claim('b');
      const run = await system.run(['revive', 'a', 'b', 'nobody', '--json']);
      expect(run.code).toBe(1);
      expect(run.json<{ results: { jobId: string; outcome: string }[] }>().results).toMatchObject([
        { jobId: 'a', outcome: 'written' },
        { jobId: 'b', outcome: 'refused' },
        { jobId: 'nobody', outcome: 'absent' },
      ]);
      expect(await status('a')).toBe('pending');
      expect(await bodies()).toEqual(['{"hint":"a","type":"email"}']);
    });

    it('keeps the time of a job that is to run later, and overrides it with --now', async () => {
      for (const [delay, hints] of [
        [600_000, 1],
        [7_200_000, 0],
      ] as const) {
        const jobId = `later-${delay}`;
        await system.store.schedule(
          newJob(jobId),
          planDispatch(clock.now(), clock.now() + delay, defaultSettings),
        );
        await system.store.cancel(jobId);
        const run = await system.run(['revive', jobId]);
        expect([run.code, run.stdout]).toEqual([
          0,
          expect.stringMatching(/due in (10 min|2 h); --now runs it/),
        ]);
        expect(await system.store.read(jobId)).toMatchObject({
          ...{ status: 'pending', notBefore: clock.now() + delay, dispatches: hints },
        });
        await system.store.cancel(jobId);
        expect((await system.run(['revive', jobId, '--now'])).stdout).not.toContain('due in');
        expect(await system.store.read(jobId)).toMatchObject({ notBefore: clock.now(), dispatches: 1 });
      }
    });

    it('refuses a rejected message and says why', async () => {
      await system.store.reject({ messageId: 'm1', reason: 'not JSON', text: 'x', bytes: 1, sha256: 'y' });
      const run = await system.run(['revive', 'bad:m1']);
      expect(run.code).toBe(1);
      expect(run.stderr).toContain('have its producer send a valid one');
    });
  });

  describe('cancel', () => {
    it('asks the worker of a running job and ends a pending one', async () => {
      await fail('p', 'boom');
      await system.run(['revive', 'p']);
      await claim('r');
      const run = await system.run(['cancel', 'p', 'r', '--yes']);
      expect(run.code).toBe(0);
      expect(run.stdout).toContain('p  cancelled');
      expect(run.stdout).toContain('r  its worker is asked to stop');
      expect(await status('p')).toBe('cancelled');
      expect((await system.store.read('r'))?.cancelRequested).toBe(true);
    });

    it('asks before it cancels several, takes no for an answer, and does nothing where nobody can answer', async () => {
      await claim('r');
      await claim('s');
      const unanswered = await system.run(['cancel', 'r', 's']);
      expect(unanswered.code).toBe(2);
      expect(unanswered.stderr).toContain('Add --yes');
      const declined = await system.run(['cancel', 'r', 's'], { answer: false });
      expect(declined.code).toBe(1);
      expect((await system.store.read('r'))?.cancelRequested).toBe(false);
      expect((await system.run(['cancel', 'r', 's'], { answer: true })).code).toBe(0);
      expect((await system.store.read('s'))?.cancelRequested).toBe(true);
    });
  });

  describe('take-back', () => {
    it('takes a job from its worker, whose writes are refused from then on', async () => {
      const held = await claim('r');
      const run = await system.run(['take-back', 'r']);
      expect(run.code).toBe(0);
      expect(run.stdout).toContain('taken back from worker-a/r, which is fenced');
      expect((await system.store.complete(held)).outcome).toBe('lost');
      // Claimed a moment ago, the job is not due yet, and neither is its hint.
      expect(await bodies()).toEqual([]);
      await expect.poll(() => bodies(), { interval: 500 }).toEqual(['{"hint":"r","type":"email"}']);
    });
  });

  describe('revive by filter', () => {
    beforeEach(async () => {
      await fail('t1', 'Error: ETIMEDOUT 10.0.0.1');
      await clock.advance(3_600_000);
      await fail('t2', 'Error: etimedout 10.0.0.2');
      await fail('x1', 'Error: no such mailbox');
      await fail('other', 'Error: ETIMEDOUT', 'report');
    });

    it('chooses by type, error and time, and changes nothing in a dry run', async () => {
      const would = async (...args: string[]) =>
        (await system.run(['revive', '--dry-run', '--json', ...args]))
          .json<{ wouldRevive: string[] }>()
          .wouldRevive.sort();
      expect(await would('--type', 'email')).toEqual(['t1', 't2', 'x1']);
      expect(await would('--type', 'email,report', '--error', 'ETIMEDOUT')).toEqual(['other', 't1', 't2']);
      expect(await would('--type', 'email', '--since', '30m')).toEqual(['t2', 'x1']);
      expect(await would('--type', 'email', '--until', '30m')).toEqual(['t1']);
      expect(await would('--type', 'email', '--limit', '1')).toHaveLength(1);
      expect(await status('t1')).toBe('failed');
    });

    it('runs all quarantined jobs again, of whatever type, and no other', async () => {
      for (const [jobId, type] of [
        ['q1', 'email'],
        ['q2', 'report'],
      ] as const)
        await system.store.fail(await claim(jobId, `worker-a/${jobId}`, type), {
          ...{ errors: 0, crashes: 3, lastError: 'crashed: killed' },
        });
      const run = await system.run(['revive', '--quarantined'], { answer: true });
      expect(run.stderr).toContain('Run 2 quarantined jobs again, 50 per second?');
      expect([run.code, run.stdout]).toEqual([0, expect.stringContaining('revived 2 jobs')]);
      expect([await status('q1'), await status('q2'), await status('t1')]).toEqual([
        ...['pending', 'pending', 'failed'],
      ]);
    });

    it('revives them with their hints after a yes', async () => {
      const run = await system.run(['revive', '--type', 'email', '--error', 'timedout'], { answer: true });
      expect(run.stderr).toContain('Run 2 failed jobs of email again, 50 per second?');
      expect(run.code).toBe(0);
      expect(run.stdout).toContain('revived 2 jobs');
      expect([await status('t1'), await status('t2'), await status('x1')]).toEqual([
        'pending',
        'pending',
        'failed',
      ]);
      expect(await bodies()).toEqual(['{"hint":"t1","type":"email"}', '{"hint":"t2","type":"email"}']);
    });

    it('keeps to its rate: the second ten wait until a second has passed for each job of the first', async () => {
      for (let n = 0; n < 12; n++) await fail(`many-${String(n).padStart(2, '0')}`, 'boom', 'bulk');
      let ended = false;
      const run = system.run(['retry', '--type', 'bulk', '--rate', '1', '--yes']).finally(() => {
        ended = true;
      });
      await expect.poll(() => clock.sleepers).toBe(1);
      await clock.advance(9_999);
      expect([ended, clock.sleepers]).toEqual([false, 1]);
      await clock.advance(1);
      expect((await run).stdout).toContain('revived 12 jobs');
    });

    it('refuses without a filter, with ids as well, with a bad rate, and where nobody can say yes', async () => {
      expect((await system.run(['revive'])).stderr).toContain('--type, --error, --since');
      expect((await system.run(['revive', 't1', '--error', 'x'])).stderr).toContain(
        'either job ids or a filter',
      );
      expect((await system.run(['revive', 't1', '--dry-run'])).stderr).toContain('--dry-run is for filters');
      expect((await system.run(['revive', '--type', 'email', '--rate', '0'])).stderr).toContain('above 0');
      const unanswered = await system.run(['revive', '--type', 'email']);
      expect([unanswered.code, await status('t1')]).toEqual([2, 'failed']);
    });
  });

  describe('stats', () => {
    it('counts by status from the indexes, with queue and reaper', async () => {
      await claim('lapsed');
      await clock.advance(40_000);
      await claim('live');
      await fail('f', 'boom');
      await fail('g', 'boom');
      await system.run(['revive', 'g']);
      const run = await system.run(['stats', '--type', 'email']);
      expect(run.stdout).toMatch(/running +2 +soonest lease ended 20 s ago/);
      expect(run.stdout).toMatch(/lease lapsed +1 +waiting for the reaper/);
      expect(run.stdout).toMatch(/pending +1/);
      expect(run.stdout).toMatch(/failed +1 +email/);
      expect(run.stdout).toContain('none has run yet');
      const figures = (await system.run(['stats', '--json'])).json<{
        queue: { visible: number };
        deadLetters: object;
      }>();
      expect(figures.deadLetters).toMatchObject({ visible: 0 });
    });
  });
});

describe('sending', () => {
  let system: CliSystem;
  beforeEach(async () => {
    system = await createCliSystem(anyEngine());
  });
  afterEach(() => system.close());

  const received = async () => {
    const seen: { MessageId?: string; body: Record<string, unknown> }[] = [];
    for (let left = 5; left > 0; left--) {
      const reply = await system.sqs.send(
        new ReceiveMessageCommand({ QueueUrl: system.queueUrl, MaxNumberOfMessages: 10 }),
      );
      for (const { MessageId, Body = '' } of reply.Messages ?? [])
        seen.push({ MessageId, body: JSON.parse(Body) });
    }
    return seen;
  };

  it('sends a payload from the command line, under an id of its own', async () => {
    const run = await system.run(['send', 'email', '{"to":"ada"}', '--json']);
    expect(run.code).toBe(0);
    const [message] = await received();
    const { jobId } = run.json<{ jobId: string }>();
    expect(message?.body).toEqual({ type: 'email', payload: { to: 'ada' }, jobId });
    expect(run.json()).toMatchObject({ outcome: 'sent', messageId: message?.MessageId });
  });

  it('takes the payload from stdin, and id, delay, lease and budgets from options', async () => {
    const args = [
      '--job-id',
      'j1',
      '--delay',
      '20m',
      '--lease',
      '1m',
      '--max-attempts',
      '2',
      '--max-crashes',
      '1',
    ];
    const run = await system.run(['send', 'email', '-', ...args], { input: '[1,2]\n' });
    expect(run.stdout).toContain('sent j1');
    expect((await received())[0]?.body).toEqual({
      ...{ type: 'email', payload: [1, 2], jobId: 'j1' },
      ...{ delayMs: 1_200_000, leaseMs: 60_000, maxAttempts: 2, maxCrashes: 1 },
    });
  });

  it('--at takes an instant, or how long from now; one that is past is told', async () => {
    const at = async (text: string) => {
      const run = await system.run(['send', 'email', '1', '--at', text]);
      return [run.code, run.stderr, (await received())[0]?.body.notBefore];
    };
    const [code, noted, notBefore] = await at('2h');
    expect([code, noted, Math.round((Number(notBefore) - Date.now()) / 600_000)]).toEqual([0, '', 12]);
    const soon = new Date(Date.now() + 86_400_000).toISOString();
    expect(await at(soon)).toEqual([0, '', Date.parse(soon)]);
    expect(await at('2020-01-01T00:00:00Z')).toEqual([
      ...[0, expect.stringMatching(/^--at .* is .* ago, so it runs at once/), Date.parse('2020-01-01')],
    ]);
  });

  it('says that an id was used, sends nothing, and waits for that job if asked to', async () => {
    const claimed = await system.store.claim({ job: newJob('u1', { type: 'email' }), owner: 'worker-a/1' });
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
    const send = (...args: readonly string[]) =>
      system.run(['send', 'email', '1', '--job-id', 'u1', ...args]);
    expect((await send()).stderr).toMatch(/already running; a second message would change nothing/);
    await system.store.complete(claimOf(claimed.job), { opened: true });
    const again = await send();
    expect([again.code, again.stdout]).toEqual([0, 'done u1\n']);
    expect(again.stderr).toContain("Job 'u1' is already done; nothing will run. Choose another --job-id");
    expect((await send('--json')).json()).toMatchObject({ outcome: 'known', status: 'done', type: 'email' });
    expect((await send('--wait', '--json')).json()).toMatchObject({ job: { result: { opened: true } } });
    expect(await received()).toEqual([]);
    expect((await send('--force')).stdout).toBe('sent u1\n');
    expect(await received()).toHaveLength(1);
  });

  it('sends nothing unchecked when the local stack does not answer, except with --force', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'leasehold-silent-'));
    const { tableName, queueUrl, environment } = system;
    const consoleUrl = `http://127.0.0.1:${await freePort()}/#token=x`;
    mkdirSync(join(directory, '.cache'));
    writeFileSync(
      join(directory, '.cache', 'leasehold-dev.json'),
      JSON.stringify({ pid: process.pid, tableName, queueUrl, environment, consoleUrl }),
    );
    const run = await runInProcess(['send', 'email', '1'], { directory });
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('--force')]);
    expect((await runInProcess(['send', 'email', '1', '--force'], { directory })).code).toBe(0);
    expect(await received()).toHaveLength(1);
    rmSync(directory, { recursive: true });
  });

  it('waits for the job when asked to, and exits by how it ended', async () => {
    const waiting = system.run(['send', 'email', '1', '--job-id', 'w1', '--wait', '--json'], {
      clock: systemClock,
    });
    await expect.poll(async () => (await received()).length).toBe(1);
    const claimed = await system.store.claim({ job: newJob('w1', { type: 'email' }), owner: 'worker-a/1' });
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
    await system.store.complete(claimOf(claimed.job), { opened: true });
    const run = await waiting;
    expect(run.code).toBe(0);
    expect(run.json()).toMatchObject({
      ...{ outcome: 'sent', jobId: 'w1' },
      job: { status: 'done', result: { opened: true } },
    });
    const late = await system.run(['send', 'email', '1', '--wait', '--timeout', '0s'], {
      clock: systemClock,
    });
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(
      /not ended within 0 ms: .*not started, or unknown\. In the queue \d+ message/,
    );
  });

  it('sends nothing that a worker would refuse', async () => {
    for (const [args, message] of [
      [['send', 'no type!'], "'type' is 'no type!'"],
      [['send', 'email', '{"to":'], 'Check the shell quotes'],
      [['send', 'email', '1', '--lease', '1s'], "'leaseMs' is 1000"],
      [['send', 'email', '1', '--job-id', 'a b'], "'jobId' is 'a b'"],
      [['send', 'email', '1', '--timeout', '1m'], 'needs --wait'],
      [['send', 'email', '1', '--delay', '1h', '--at', '2030-01-01'], 'either --delay or --at'],
      [['send', 'email', '1', '--at', 'soon'], 'or how long from now, such as 2h'],
      [['send', 'email', JSON.stringify('x'.repeat(70_000))], 'at most 65536 are allowed'],
      [['send'], "Name the job's type"],
      [['send', 'email', '-'], 'stdin was empty'],
      [['send', 'email', '--file', 'missing.ndjson'], "There is no file 'missing.ndjson'"],
      [['send', 'email', '1', '--file', '-'], 'either a payload or --file'],
    ] as const) {
      const run = await system.run(args);
      expect(run.code).toBe(2);
      expect(run.stderr).toContain(message);
    }
    expect(await received()).toEqual([]);
  });

  it('sends a job for every line of a file, and names the lines that are no good', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-send-'));
    const file = join(folder, 'jobs.ndjson');
    const lines = [
      '{"type":"email","payload":1,"jobId":"a"}',
      '',
      '{"type":"email","payload":',
      '{"type":"email","paylod":2}',
      '{"hint":"a"}',
      '{"type":"report","payload":3,"jobId":"b"}',
    ];
    writeFileSync(file, lines.join('\n'));
    const run = await system.run(['send', '--file', file]);
    rmSync(folder, { recursive: true });
    expect(run.code).toBe(1);
    expect(run.stdout).toContain('sent 2 jobs, 3 not sent');
    expect(run.stderr).toMatch(/line 3: the message body is not JSON/);
    expect(run.stderr).toMatch(/line 4: .*Did you mean 'payload'\?/);
    expect(run.stderr).toMatch(/line 5: a hint is not a job/);
    expect((await received()).map(({ body }) => body.jobId).sort()).toEqual(['a', 'b']);
  });
});
