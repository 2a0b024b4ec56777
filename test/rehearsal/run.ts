import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../../lib/protocol/job.ts';
import { rehearseCommand } from '../../rehearsal/rehearse.ts';
import { createCdk } from './cdk.ts';
import { type Deployment, type Outputs, openDeployment, type RehearsedPool } from './deployment.ts';
import { type Emulator, isInstalled, startEmulator } from './emulator.ts';
import { interruptEachStep, runEmulated } from './interrupts.ts';
import { step } from './step.ts';

/**
 * Deploys the stack with the real CDK CLI into MiniStack, a third-party AWS emulator, and uses it: jobs, a crash, an upgrade, the
 * end; then the account rehearsal. Not part of the tests, because it needs Python packages. With `--interrupt` it breaks the
 * account rehearsal at each step instead, and with `--account` it runs that in a real account.
 */

const STACK = 'Leasehold';
/** A tick comes every minute; the rest is for a busy machine. */
const WITHIN_A_TICK_MS = 150_000;
const SOON_MS = 60_000;
const NOT_REHEARSED = [
  'alarms going off and the dashboard’s graphs: the emulator keeps both, but makes no metrics of log lines',
  'X-Ray, log retention, point-in-time recovery and deletion of expired rows: accepted, not carried out',
  'the permissions of batch requests, which the emulator names otherwise than AWS: test/cdk has them',
  'containers: the emulator keeps cluster, service and task definition, but has no Docker here to run tasks in; the worker ran as a process',
  'scaling of containers: the emulator has no Application Auto Scaling and no capacity providers, and neither evaluates alarms nor protects tasks',
  'arm64: functions run on this machine’s own Node',
];

const isDone = (job: Job) => job.status === 'done';

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.length === 0) return inEmulator(rehearse);
  if (args.length === 1 && args[0] === '--interrupt')
    return inEmulator(async (emulator, cdk) => {
      await step('cdk bootstrap', () => cdk(['bootstrap']));
      await interruptEachStep(emulator);
    });
  return rehearseCommand(args, { command: 'npm run rehearse --' });
}

type InEmulator = (emulator: Emulator, cdk: RunCdk, folder: string) => Promise<void>;

async function inEmulator(act: InEmulator): Promise<number> {
  if (!isInstalled('ministack', '--help') || !isInstalled('openssl', 'version')) {
    console.error(
      [
        'The rehearsal needs the AWS emulator MiniStack and openssl on the PATH, and at least one is missing.',
        'Install MiniStack and cfn-lint from PyPI, in a virtual environment, then run this again:',
        '  python3 -m venv .cache/rehearsal && .cache/rehearsal/bin/pip install ministack cfn-lint',
        '  PATH="$PWD/.cache/rehearsal/bin:$PATH" npm run rehearse',
      ].join('\n'),
    );
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-rehearsal-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  let emulator: Emulator | undefined;
  try {
    const cdk = createCdk(folder);
    await step('cdk synth, offline', () => cdk.mustRun(['synth', '--quiet']));
    await step('cfn-lint', async () => lint(join(folder, 'cdk.out', `${STACK}.template.json`)));
    emulator = await step('start the emulator, with TLS and IAM enforced', () => startEmulator(folder));
    await act(emulator, (args) => cdk.run(args, emulator?.environment), folder);
    console.log(`\nNot rehearsed:\n${NOT_REHEARSED.map((line) => `  - ${line}`).join('\n')}`);
    return 0;
  } catch (error) {
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    if (emulator !== undefined)
      console.error(
        `\nThe emulator's last lines:\n${readFileSync(join(folder, 'emulator.log'), 'utf8').slice(-3000)}`,
      );
    return 1;
  } finally {
    await emulator?.stop();
  }
}

type RunCdk = (args: readonly string[]) => Promise<{ readonly code: number | null; readonly output: string }>;

async function rehearse(emulator: Emulator, cdk: RunCdk, folder: string): Promise<void> {
  const must = async (...args: string[]) => {
    const { code, output } = await cdk(args);
    if (code !== 0) throw new Error(`cdk ${args.join(' ')} ended with ${code}:\n${output.slice(-3000)}`);
    return output;
  };
  const outputsFile = join(folder, 'outputs.json');
  const deploy = (...context: string[]) =>
    must('deploy', '--require-approval', 'never', '--outputs-file', outputsFile, ...context);

  await step('cdk bootstrap', () => must('bootstrap'));
  const readOutputs = (): Outputs => JSON.parse(readFileSync(outputsFile, 'utf8'))[STACK];
  const outputs = await step('cdk deploy', async () => {
    await deploy();
    return readOutputs();
  });
  await emulator.allowBatches(STACK);
  await step('cdk diff finds nothing left to do', async () => {
    const diff = await must('diff');
    if (!/Number of stacks with differences: 0/.test(diff)) throw new Error(diff.slice(-2000));
  });

  const deployment = openDeployment(outputs, emulator);
  try {
    await useIt(deployment, emulator);
    await usePools(deployment, emulator);
    await upgradeIt(deployment, deploy);
    await step('fewer shards are refused', async () => {
      const { code, output } = await cdk(['synth', '--quiet', '-c', 'rehearsal:shards=4']);
      if (code === 0 || !output.includes('shards may only grow')) throw new Error(output.slice(-2000));
    });
    await step('cdk destroy, which leaves the table and its rows', async () => {
      await must('destroy', '--force');
      await deployment.until('first', isDone, SOON_MS);
    });
  } finally {
    deployment.close();
  }
  await step('the account rehearsal, without what the emulator lacks', () => runEmulated(emulator));
}

async function useIt(deployment: Deployment, emulator: Emulator): Promise<void> {
  const primes = (jobId: string, below = 100_000) => ({ jobId, type: 'count-primes', payload: { below } });
  await step('a job sent with SendMessage is done', async () => {
    await deployment.send(primes('first'));
    await deployment.until('first', isDone, SOON_MS);
  });
  await step('a user without permissions cannot send', async () => {
    const stranger = await emulator.createStranger();
    const refusal = await deployment.send(primes('stranger'), stranger).then(
      () => 'it was sent',
      (error: Error) => error.name,
    );
    if (!/AccessDenied/.test(refusal)) throw new Error(`expected AccessDenied, got: ${refusal}`);
  });
  await step('a failing job is retried by a delayed hint', async () => {
    await deployment.send({
      jobId: 'refused',
      type: 'call-service',
      payload: { url: 'http://127.0.0.1:9', body: 1 },
    });
    await deployment.until('refused', ({ attempt }) => attempt >= 2, SOON_MS);
  });
  await step('a dead worker’s job is taken back on the schedule’s tick, and done', async () => {
    const { jobId, type, payload } = primes('crashed');
    const job = {
      jobId,
      type,
      payload: JSON.stringify(payload),
      leaseMs: 30_000,
      maxAttempts: 5,
      maxCrashes: 3,
    };
    await deployment.storeAt(-300_000).claim({ job, owner: 'dead/worker' });
    const { attempt, lapses } = await deployment.until('crashed', isDone, WITHIN_A_TICK_MS);
    if (attempt !== 2 || lapses !== 1) throw new Error(`attempt ${attempt}, lapses ${lapses}`);
  });
  await step('a message that no worker took is done by way of the dead-letter queue', async () => {
    await deployment.sendToDeadLetters(primes('unclaimed'));
    await deployment.until('unclaimed', isDone, SOON_MS);
  });
}

async function usePools(deployment: Deployment, emulator: Emulator): Promise<void> {
  const ranIn = async (jobId: string, pool: RehearsedPool) => {
    const job = await deployment.until(jobId, isDone, SOON_MS);
    const { result } = job as { readonly result?: unknown };
    if (result !== pool || job.attempt !== 1) throw new Error(`not in ${pool}: ${JSON.stringify(job)}`);
  };
  await step('each of two Lambda pools runs what comes to its queue', async () => {
    for (const pool of ['left', 'right'] as const) {
      await deployment.sendTo(pool, { jobId: `to-${pool}`, type: pool });
      await ranIn(`to-${pool}`, pool);
    }
  });
  await step(
    'a message in the queue of another pool is forwarded to its own, and charged nothing',
    async () => {
      await deployment.send({ jobId: 'from-default', type: 'left' });
      await deployment.sendTo('left', { jobId: 'from-left', type: 'right' });
      await ranIn('from-default', 'left');
      await ranIn('from-left', 'right');
    },
  );
  await step('a message for a pool of containers waits in its queue for one', async () => {
    await deployment.send({ jobId: 'contained', type: 'heavy' });
    await deployment.until('contained', ({ status }) => status === 'pending', SOON_MS);
    const end = Date.now() + SOON_MS;
    while ((await deployment.waitingIn('heavy')) === 0) {
      if (Date.now() > end) throw new Error('no hint came to the queue of the pool');
      await sleep(250);
    }
  });
  await step(
    'a process with the variables of the task definition runs it, and drains on SIGTERM',
    async () => {
      const variables = await emulator.taskVariables();
      const cli = join(import.meta.dirname, '..', '..', 'bin', 'leasehold.ts');
      const work = [cli, 'work', join(import.meta.dirname, 'jobs.ts'), '--cells', '1', '--health-port', '0'];
      const child = spawn(process.execPath, work, {
        env: { PATH: process.env.PATH, ...emulator.environment, ...variables },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      try {
        await ranIn('contained', 'heavy');
      } finally {
        child.kill('SIGTERM');
      }
      const [code] = await once(child, 'exit');
      if (code !== 0) throw new Error(`the process ended with ${code}`);
    },
  );
}

async function upgradeIt(
  deployment: Deployment,
  deploy: (...context: string[]) => Promise<string>,
): Promise<void> {
  await step('an upgrade while a job runs: the job is done, and new ones have the new lease', async () => {
    await deployment.send({
      jobId: 'meanwhile',
      type: 'count-primes',
      payload: { below: 60_000_000, slice: 100_000 },
    });
    await deployment.until('meanwhile', ({ status }) => status !== 'pending', SOON_MS);
    await deploy('-c', 'rehearsal:lease=60');
    await deployment.until('meanwhile', isDone, WITHIN_A_TICK_MS);
    await deployment.send({ jobId: 'after', type: 'count-primes', payload: { below: 10 } });
    const { leaseMs } = await deployment.until('after', isDone, SOON_MS);
    if (leaseMs !== 60_000) throw new Error(`the new job's lease is ${leaseMs} ms`);
  });
}

function lint(template: string): void {
  if (!isInstalled('cfn-lint', '--version')) {
    console.log('  cfn-lint is not installed (pip install cfn-lint): the template was not linted');
    return;
  }
  // W3005: CDK always adds the dependency of a function on its role, which the reference implies as well.
  const args = ['--ignore-checks', 'W3005', '--format', 'parseable', '--', template];
  const { status, stdout, stderr } = spawnSync('cfn-lint', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cfn-lint found:\n${stdout}${stderr}`);
}

// By default a signal ends the process without its exit handlers, and the emulator would stay.
if (!process.argv.includes('--account'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

process.exitCode = await main();
process.exit();
