import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LeaseholdGrants } from '../../lib/cdk/leasehold-grants.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { runInProcess } from '../support/cli.ts';
import { type Gate, type GatedEngines, startGatedEngines } from './gated-engines.ts';
import { permissionsOf } from './policies.ts';
import { SOME_KEY, synthesizeJobs, withoutValidation } from './support.ts';

withoutValidation();

const pools = { own: { types: ['elsewhere'] } };

let engines: GatedEngines;
beforeAll(async () => {
  engines = await startGatedEngines(defaultSettings, pools);
});
afterAll(() => engines?.stop());

/** A gate that lets pass what somebody with these grants may do. */
function gateOf(...granted: (keyof LeaseholdGrants)[]): Promise<Gate> {
  const made = synthesizeJobs(
    (stack) => ({ pools, encryptionKey: Key.fromKeyArn(stack, 'Key', SOME_KEY) }),
    (jobs, stack) => {
      const role = new Role(stack, 'Somebody', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
      for (const name of granted) jobs.grants[name](role);
    },
  );
  return engines.gateFor(permissionsOf(made.template, /Somebody/));
}

/** What is granted and no call has used. */
const unused = ({ allowed, asked }: Gate): string[] => [...allowed].filter((each) => !asked.has(each));

const job = (jobId: string, bytes = 0) => ({
  jobId,
  type: 'count-primes',
  payload: JSON.stringify({ below: 10, unread: 'x'.repeat(bytes) }),
  leaseMs: 30_000,
  maxAttempts: 5,
  maxCrashes: 3,
});

/** A job that is running, and one that has failed, whose payload fills several rows. */
async function seed(prefix: string): Promise<{ readonly running: string; readonly failed: string }> {
  const store = engines.storeAt(0);
  const [running, failed] = [`${prefix}-running`, `${prefix}-failed`];
  await store.claim({ job: job(running), owner: `somebody/${running}` });
  const outcome = await store.claim({ job: job(failed, 500_000), owner: `somebody/${failed}` });
  if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
  await store.fail(claimOf(outcome.job), { errors: 1, lastError: 'Error: no' });
  return { running, failed };
}

/** Claims of five minutes ago whose workers are gone: enough for a batch of writes. */
async function lapse(prefix: string): Promise<readonly string[]> {
  const jobs = [0, 1_000, 5_000, 500_000].map((bytes) => job(`${prefix}-${bytes}`, bytes));
  for (const each of jobs) await engines.storeAt(-300_000).claim({ job: each, owner: `gone/${each.jobId}` });
  return jobs.map(({ jobId }) => jobId);
}

/** Every command that only reads. */
const looks = (running: string, failed: string): readonly (readonly string[])[] => [
  ['ls'],
  ['ls', '--status', 'failed', '--type', 'count-primes'],
  ['ls', '--status', 'done', '--scan'],
  ['show', running],
  ['show', failed],
  ['stats', '--workers'],
  ['stats', '--service', 'own'],
  ['schedules'],
];

const events = { LEASEHOLD_SERVICE_NAME: 'own', LEASEHOLD_EVENT_BUS_NAME: 'default' };

async function runAll(gate: Gate, commands: readonly (readonly string[])[]): Promise<void> {
  for (const args of commands) {
    const environment = { ...gate.environment, ...events };
    const { code, stderr } = await runInProcess(args, { environment });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: expect.any(String) });
  }
}

describe('an observer and an operator', () => {
  it('can use every command that reads, and every command, and are granted nothing that none of them uses', async () => {
    const { running, failed } = await seed('operated');
    const observer = await gateOf('observe');
    await runAll(observer, looks(running, failed));
    await runInProcess(['doctor'], { environment: observer.environment });
    expect([...observer.denied]).toEqual([]);
    expect(unused(observer)).toEqual([]);
    const other = await seed('other');
    const operator = await gateOf('operate');
    expect([...operator.allowed]).toEqual(expect.arrayContaining([...observer.allowed]));
    const lapsed = await lapse('swept');
    await runAll(operator, [['doctor', '--sweep']]);
    for (const jobId of lapsed) expect((await engines.storeAt(0).read(jobId))?.status).toBe('pending');
    await runAll(operator, [
      ['send', 'count-primes', '{"below":10}'],
      ['send', 'elsewhere', 'null'],
      ['send', 'count-primes', JSON.stringify({ below: 10, unread: 'x'.repeat(5_000) })],
      ['cancel', running, ...lapsed, '--yes'],
      ['take-back', other.running, '--yes'],
      ['pause', 'count-primes'],
      ['resume', 'count-primes'],
      ['limit', 'count-primes', '3'],
      ['revive', failed],
      ['revive', '--type', 'count-primes', '--yes'],
    ]);
    await runInProcess(['doctor', '--repair', '--yes'], { environment: operator.environment });
    expect([...operator.denied]).toEqual([]);
    expect(unused(operator).filter((each) => !observer.asked.has(each))).toEqual([]);
  });
});

describe('an observer', () => {
  it('is told which permission a command needs', async () => {
    const { running } = await seed('forbidden');
    const jobIds = await lapse('kept');
    const gate = await gateOf('observe');
    for (const [permission, ...args] of [
      ['dynamodb:UpdateItem', 'cancel', running, '--yes'],
      ['sqs:SendMessage', 'send', 'count-primes', '{"below":10}'],
      ['dynamodb:PartiQLUpdate', 'doctor', '--sweep'],
    ] as const) {
      const { code, stderr } = await runInProcess(args, { environment: gate.environment });
      expect(code).not.toBe(0);
      expect(stderr).toMatch(new RegExp(`credentials lack the permission ${permission}\\b`));
    }
    for (const jobId of jobIds) expect((await engines.storeAt(0).read(jobId))?.status).toBe('running');
  });
});

describe('a gate that knows the key', () => {
  it.each([
    ['kms:Decrypt on Key', 'show', 'sealed'],
    ['kms:Encrypt on Key', 'revive', 'sealed'],
    ['kms:GenerateDataKey on Key', 'send', 'count-primes'],
  ])('refuses whoever may do everything but %s', async (missing, ...args) => {
    const gate = await gateOf('operate');
    const without = await engines.gateFor([...gate.allowed].filter((permission) => permission !== missing));
    const payload = args[0] === 'send' ? ['{"below":10}'] : [];
    const { code } = await runInProcess([...args, ...payload], { environment: without.environment });
    expect(code).not.toBe(0);
    expect([...without.denied]).toEqual([missing]);
  });
});

describe('a process of one’s own', () => {
  it('can work and reap, and is granted nothing that it does not use', async () => {
    const gate = await gateOf('work', 'reap');
    const store = engines.storeAt(0);
    const lapsed = await lapse('lapsed');
    const done = [0, 5_000].flatMap((bytes) => [1, 2, 3, 4].map((n) => job(`p-${bytes}-${n}`, bytes)));
    const turns = ['turn-1', 'turn-2', 'turn-3'];
    const retried = { url: 'http://127.0.0.1:9', body: 1 };
    await engines.send(engines.queues.queue, [
      ...done.map(({ jobId, payload }) => jobBody('count-primes', JSON.parse(payload), { jobId })),
      jobBody('call-service', retried, { jobId: 'retried' }),
      jobBody('elsewhere', null, { jobId: 'of-the-pool' }),
    ]);
    await engines.send(
      engines.queues.queue,
      turns.map((jobId) => jobBody('take-turns', null, { jobId })),
    );
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('../support/patient-worker.ts', import.meta.url))],
      {
        stdio: 'ignore',
        env: {
          PATH: process.env.PATH,
          ...gate.environment,
          ...events,
          // Polls are half as long, and the end waits for the last one.
          LEASEHOLD_SHUTDOWN_GRACE_MS: '1000',
        },
      },
    );
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const until = async (isTrue: () => Promise<boolean>) => {
      while (!(await isTrue())) {
        expect(child.exitCode).toBeNull();
        await sleep(50);
      }
    };
    const isDone = async (jobId: string) => (await store.read(jobId))?.status === 'done';
    try {
      const ids = [...lapsed, ...turns, ...done.map(({ jobId }) => jobId)];
      for (const jobId of ids) await until(() => isDone(jobId));
      await until(async () => (await store.read('of-the-pool'))?.status === 'pending');
      await until(async () => ((await store.read('retried'))?.errors ?? 0) > 0);
      // Polls may bring too few new jobs for a batch, so jobs are sent until one has enough.
      let sent = 0;
      await until(async () => {
        if (gate.asked.has('dynamodb:PartiQLInsert on Table')) return true;
        const jobIds = Array.from({ length: 10 }, () => `claimed-together-${++sent}`);
        await engines.send(
          engines.queues.queue,
          jobIds.map((jobId) => jobBody('count-primes', { below: 10 }, { jobId })),
        );
        return false;
      });
      const giveBack = 'sqs:ChangeMessageVisibility on Queue';
      gate.breakBy((_, body) =>
        body.includes('given-back') && !gate.asked.has(giveBack)
          ? { status: 500, error: 'InternalServerError' }
          : undefined,
      );
      await engines.send(engines.queues.queue, [
        jobBody('count-primes', { below: 10 }, { jobId: 'given-back' }),
      ]);
      await until(() => isDone('given-back'));
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
    expect([...gate.denied]).toEqual([]);
    expect(unused(gate)).toEqual([]);
  });
});
