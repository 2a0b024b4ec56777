import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { Job } from '../../lib/protocol/job.ts';
import { reclaimDelayBound } from '../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { LEADER_KEY } from '../../lib/wire/table.ts';
import type { AccountChoice } from './account-plan.ts';
import { createCdk } from './cdk.ts';
import { type Deployment, type Outputs, openDeployment } from './deployment.ts';
import { step } from './step.ts';

const STACK = 'LeaseholdRehearsal';
const LEASE_MS = 10_000;
const settings = resolveSettings({ leaseMs: LEASE_MS, maxRunning: 40 });
const SOON_MS = 120_000;

/** Where the account is reached: AWS itself, or an emulator that stands in for it. */
interface Reached {
  readonly clientConfig: DynamoDBClientConfig;
  /** For the CDK CLI and other programs. */
  readonly environment: Readonly<Record<string, string>>;
}

const isDone = ({ status }: Job) => status === 'done';

/** How often each thing is tried. */
const COUNTS = { rounds: 20, lapses: 10, looks: 200, throttled: 300 } as const;
type Counts = { readonly [name in keyof typeof COUNTS]: number };

/** Does what the plan says, in order, and destroys the stack at the end, whatever happened. */
export async function rehearseInAccount(
  choice: AccountChoice,
  reached: Reached,
  counts: Counts = COUNTS,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-account-'));
  const cdk = createCdk(folder, { app: 'account-app.ts', keepsAccount: true });
  const context = [`rehearsal:account=${choice.account}`, `rehearsal:region=${choice.region}`];
  const run = (verb: string, ...args: string[]) =>
    cdk.mustRun([verb, ...args, ...context.flatMap((each) => ['-c', each])], reached.environment);
  const outputsFile = join(folder, 'outputs.json');
  const deploy = (...args: string[]) =>
    run('deploy', '--require-approval', 'never', '--outputs-file', outputsFile, ...args);
  let deployment: Deployment | undefined;
  try {
    await step('deploy the stack, with a key of its own', () => deploy());
    const outputs: Outputs = JSON.parse(readFileSync(outputsFile, 'utf8'))[STACK];
    deployment = openDeployment(outputs, reached);
    await useStack(deployment, counts);
    await step('lower the maximum write units to 20', () => deploy('-c', 'rehearsal:maxWriteUnits=20'));
    await sendThrottled(deployment, counts);
    await step('the contract suite of the job store', async () => runContract(reached.environment));
  } finally {
    deployment?.close();
    await step('destroy the stack', () => run('destroy', '--force')).catch((error: unknown) => {
      console.error(
        `The stack ${STACK} is still there, and costs money. Delete it by hand, in ${choice.region}:\n  aws cloudformation delete-stack --stack-name ${STACK} --region ${choice.region}`,
      );
      throw error;
    });
    rmSync(folder, { recursive: true, force: true });
  }
}

async function useStack(deployment: Deployment, { rounds, lapses, looks }: Counts): Promise<void> {
  await step('a job is done, on a table and queues with that key', async () => {
    await deployment.send({ jobId: 'first', type: 'quick', payload: {} });
    await deployment.until('first', isDone, SOON_MS);
  });
  await step(`the chain of wakes goes on for ${rounds} rounds`, () => followChain(deployment, rounds));
  await step(`${lapses} lapsed leases are reclaimed within the bound`, () => lapse(deployment, lapses));
  for (const [type, cause] of [
    ['buffers', /memory/],
    ['objects', /memory|heap/],
    ['exit', /exit/],
  ] as const)
    await step(`a handler that ends its cell: ${type}`, () => die(deployment, type, cause));
  await step('how far the index is behind the table', () => measureIndex(deployment, looks));
}

/** Each wake must come within seconds of its promise. A loop that Lambda cuts would end after 16. */
async function followChain({ row }: Deployment, rounds: number): Promise<void> {
  const seen = new Map<unknown, number>();
  const until = Date.now() + rounds * 60_000;
  while (seen.size <= rounds) {
    const { wake, wakeAt } = (await row(LEADER_KEY)) ?? {};
    if (wake !== undefined && !seen.has(wake)) seen.set(wake, Date.now());
    const lateMs = Date.now() - Number(wakeAt ?? Date.now());
    if (lateMs > 10_000) throw new Error(`after ${seen.size} rounds the next wake is ${lateMs} ms late`);
    if (Date.now() > until) throw new Error(`only ${seen.size} rounds were seen`);
    await sleep(500);
  }
  const times = [...seen.values()];
  const gaps = times.slice(1).map((at, i) => `${((at - (times[i] ?? at)) / 1000).toFixed(1)} s`);
  console.log(
    `  from one wake to the next: ${gaps.join(', ')}; ${(settings.minLeaseMs + settings.skewMs) / 1000} s were asked for`,
  );
}

/** Claims in the name of workers that never were, one after the other. */
async function lapse(deployment: Deployment, times: number): Promise<void> {
  const bound = reclaimDelayBound(settings);
  const delays: number[] = [];
  for (let n = 0; n < times; n++) {
    const jobId = `lapsed-${n}`;
    const job = { jobId, type: 'quick', payload: '{}', leaseMs: LEASE_MS, maxAttempts: 5, maxCrashes: 3 };
    const claimed = await deployment.storeAt(0).claim({ job, owner: `gone/${n}` });
    if (claimed.outcome !== 'claimed') throw new Error(`the claim came out as ${claimed.outcome}`);
    await deployment.until(jobId, ({ status }) => status !== 'running', SOON_MS);
    delays.push(Date.now() - claimed.job.leaseUntil);
  }
  console.log(
    `  from a lease's end to its reclaim: ${delays.map((ms) => `${ms} ms`).join(', ')}; the bound is ${bound} ms`,
  );
  // A quarter of a second to find out, from here.
  if (Math.max(...delays) > bound + 1000) throw new Error('a reclaim came later than the bound');
}

async function die(deployment: Deployment, type: string, cause: RegExp): Promise<void> {
  await deployment.send({ jobId: type, type, payload: {} });
  const job = await deployment.until(type, ({ status }) => status === 'failed', 10 * 60_000);
  console.log(`  ${job.crashes} crashes, ${job.attempt} attempts: ${job.lastError}`);
  if (!cause.test(job.lastError ?? '')) throw new Error(`its last error does not say why: ${job.lastError}`);
}

async function measureIndex({ storeAt, indexed }: Deployment, times: number): Promise<void> {
  const lags: number[] = [];
  for (let n = 0; n < times; n++) {
    const jobId = `seen-${n}`;
    const later = Date.now() + 86_400_000;
    const job = { jobId, type: 'quick', payload: '{}', leaseMs: LEASE_MS, maxAttempts: 5, maxCrashes: 3 };
    await storeAt(0).schedule(job, { notBefore: later, leaseUntil: later, dispatches: 0 });
    const from = performance.now();
    while (!(await indexed(jobId)))
      if (performance.now() - from > 60_000) throw new Error('a row never came to the index');
    lags.push(performance.now() - from);
  }
  lags.sort((a, b) => a - b);
  const at = (share: number) => `${Math.round(lags[Math.ceil(share * times) - 1] ?? 0)} ms`;
  console.log(`  p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}; the simulation assumes up to 20 s`);
}

async function sendThrottled(deployment: Deployment, { throttled }: Counts): Promise<void> {
  await step(`${throttled} jobs are done though writes are throttled, and nobody is charged`, async () => {
    const ids = Array.from({ length: throttled }, (_, n) => `throttled-${n}`);
    for (const jobId of ids) await deployment.send({ jobId, type: 'quick', payload: {} });
    for (const jobId of ids) {
      const { crashes } = await deployment.until(jobId, isDone, 20 * 60_000);
      if (crashes > 0) throw new Error(`${jobId} was charged ${crashes} crashes`);
    }
  });
}

/** The same suite that runs on each local engine, on a table that it creates and deletes. */
function runContract(environment: Readonly<Record<string, string>>): void {
  const config = join(import.meta.dirname, 'vitest.account.config.ts');
  const { status } = spawnSync('npx', ['vitest', 'run', '--config', config], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  if (status !== 0) throw new Error('the contract suite failed');
}
