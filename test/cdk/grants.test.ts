import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LeaseholdGrants } from '../../lib/cdk/leasehold-grants.ts';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { runInProcess } from '../support/cli.ts';
import { type Gate, type GatedEngines, startGatedEngines } from './gated-engines.ts';
import { permissionsOf } from './policies.ts';
import { projectRoot, SOME_KEY, someEnv, someJobs, synthesizeIn, withoutValidation } from './support.ts';

withoutValidation();

let engines: GatedEngines;
beforeAll(async () => {
  engines = await startGatedEngines(defaultSettings);
});
afterAll(() => engines?.stop());

/** A gate that lets pass what somebody with these grants may do. */
function gateOf(...granted: (keyof LeaseholdGrants)[]): Promise<Gate> {
  const made = synthesizeIn(
    (stack) => {
      const jobs = new LeaseholdJobs(stack, 'Jobs', {
        jobs: someJobs,
        encryptionKey: Key.fromKeyArn(stack, 'Key', SOME_KEY),
      });
      const role = new Role(stack, 'Somebody', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
      for (const name of granted) jobs.grants[name](role);
      return jobs;
    },
    { env: someEnv },
  );
  return engines.gateFor(permissionsOf(made.template, /Somebody/));
}

const job = (jobId: string) => ({
  jobId,
  type: 'count-primes',
  payload: '{"below":10}',
  leaseMs: 30_000,
  maxAttempts: 5,
  maxCrashes: 3,
});

/** A job that is running, and one that has failed. */
async function seed(prefix: string): Promise<{ readonly running: string; readonly failed: string }> {
  const store = engines.storeAt(0);
  const [running, failed] = [`${prefix}-running`, `${prefix}-failed`];
  await store.claim({ job: job(running), owner: `somebody/${running}` });
  const outcome = await store.claim({ job: job(failed), owner: `somebody/${failed}` });
  if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
  await store.fail(claimOf(outcome.job), { errors: 1, lastError: 'Error: no' });
  return { running, failed };
}

describe('an observer', () => {
  it('can use every command that looks, and none that acts', async () => {
    const { running, failed } = await seed('observed');
    const gate = await gateOf('observe');
    const run = (...args: string[]) => runInProcess(args, { environment: gate.environment });
    for (const args of [
      ['ls'],
      ['ls', '--status', 'failed', '--type', 'count-primes'],
      ['ls', '--status', 'done', '--scan'],
      ['show', running],
      ['explain', failed],
      ['workers'],
      ['stats'],
    ]) {
      const { code, stderr } = await run(...args);
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: expect.any(String) });
    }
    await run('doctor');
    expect([...gate.denied]).toEqual([]);

    expect((await run('cancel', running, '--yes')).code).not.toBe(0);
    expect([...gate.denied]).toEqual(['dynamodb:UpdateItem on Table']);
  });
});

describe('an operator', () => {
  it('can act on jobs, and on the dead-letter queue', async () => {
    const { running, failed } = await seed('operated');
    const other = await seed('other');
    await engines.send(engines.queues.deadLetterQueue, [
      jobBody('count-primes', { below: 10 }, { jobId: 'dead' }),
    ]);
    const gate = await gateOf('operate');
    for (const args of [
      ['send', 'count-primes', '{"below":10}'],
      ['cancel', running, '--yes'],
      ['take-back', other.running, '--yes'],
      ['revive', failed],
      ['redrive', '--type', 'count-primes', '--yes'],
      ['dlq', 'ls'],
      ['dlq', 'redrive', '--yes'],
    ]) {
      const { code, stderr } = await runInProcess(args, { environment: gate.environment });
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: expect.any(String) });
    }
    await runInProcess(['doctor', '--repair', '--yes'], { environment: gate.environment });
    expect([...gate.denied]).toEqual([]);
  });
});

describe('a gate that knows the key', () => {
  it.each([
    ['kms:Decrypt on Key', 'explain', 'sealed'],
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
  it('can work and reap', async () => {
    const gate = await gateOf('work', 'reap');
    const store = engines.storeAt(0);
    await engines.storeAt(-300_000).claim({ job: job('lapsed'), owner: 'dead/worker' });
    const bodies = Array.from({ length: 10 }, (_, i) =>
      jobBody('count-primes', { below: 10 }, { jobId: `p-${i}` }),
    );
    await engines.send(engines.queues.queue, bodies);
    const child = spawn(process.execPath, [join(projectRoot, 'examples', 'worker-process.ts')], {
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH,
        ...gate.environment,
        LEASEHOLD_SERVICE_NAME: 'own',
        LEASEHOLD_EVENT_BUS_NAME: 'default',
        // Polls are half as long, and the end waits for the last one.
        LEASEHOLD_SHUTDOWN_GRACE_MS: '1000',
      },
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      const jobIds = ['lapsed', ...bodies.map((_, i) => `p-${i}`)];
      for (const jobId of jobIds)
        while ((await store.read(jobId))?.status !== 'done' && child.exitCode === null) await sleep(50);
      for (const jobId of jobIds) expect((await store.read(jobId))?.status).toBe('done');
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
    expect([...gate.denied]).toEqual([]);
    expect([...gate.asked]).toEqual(
      expect.arrayContaining(['dynamodb:PartiQLInsert on Table', 'dynamodb:Query on Table/index/byLease']),
    );
  });
});
