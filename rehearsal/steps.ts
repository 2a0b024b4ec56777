import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { driveAlarms } from './alarms.ts';
import type { AwsRequests } from './aws-request.ts';
import { type Chain, judgeChain, watchChain } from './chain.ts';
import type { Children } from './children.ts';
import { readReclaims } from './cloudwatch.ts';
import { judgeLapses, makeLapses, RECLAIM_DELAY_MS } from './lapses.ts';
import { endCells, measureIndex, throttle } from './measures.ts';
import { type Choice, type Counts, POOL, STACK } from './plan.ts';
import { findPackage } from './preflight.ts';
import { seconds } from './results.ts';
import type { Step } from './step-runner.ts';
import { openSystem, type System } from './system.ts';

export interface StepParts {
  readonly choice: Choice;
  readonly counts: Counts;
  readonly aws: AwsRequests;
  readonly children: Children;
  readonly folder: string;
  readonly app: string;
  readonly onDeploy: () => void;
}

/** The contract suite needs the sources and vitest. */
const contractConfig = join(import.meta.dirname, '..', 'test', 'rehearsal', 'vitest.account.config.ts');
export const isRepository = existsSync(contractConfig);

export function createSteps(parts: StepParts): { readonly steps: readonly Step[]; close(): void } {
  const { counts } = parts;
  let opened: { readonly system: System; readonly chain: Chain } | undefined;
  const use = () => {
    if (opened === undefined) throw new Error('the stack is not deployed');
    return opened;
  };
  const reclaims = { expected: 0, window: { from: 0, to: 0 } };

  const steps: readonly Step[] = [
    {
      name: 'deploy',
      title: `deploy the stack ${STACK} with the default settings and a KMS key`,
      required: true,
      async run() {
        parts.onDeploy();
        const system = openSystem(await deploy(parts), parts.choice.region);
        opened = { system, chain: watchChain(system) };
        return [];
      },
    },
    {
      name: 'first',
      title: 'a job of the client is done on the encrypted table and queues',
      async run() {
        const { client } = use().system;
        await client.waitFor(await client.send('quick', {}, { jobId: 'first' }), { timeoutMs: 120_000 });
        return [];
      },
    },
    {
      name: 'pool',
      title: 'a job in the default queue is forwarded to the queue of its pool, and runs there',
      async run() {
        const { client } = use().system;
        const ranIn = await client.waitFor(await client.send('where', {}), { timeoutMs: 120_000 });
        if (ranIn !== POOL) throw new Error(`it ran in the pool ${JSON.stringify(ranIn)}`);
        return [];
      },
    },
    {
      name: 'lapses',
      title: `kill a \`leasehold work\` process ${counts.rounds} times with ${counts.held} jobs each; every reclaim is within the bound`,
      async run(signal) {
        const { system, chain } = use();
        await chain.begun(signal);
        const from = Date.now();
        const lapses = await makeLapses({ ...parts, system, signal }, counts);
        Object.assign(reclaims, { expected: lapses.jobIds.length, window: { from, to: Date.now() } });
        for (const jobId of lapses.jobIds) await system.client.waitFor(jobId, { signal, timeoutMs: 120_000 });
        return judgeLapses(lapses);
      },
    },
    {
      name: 'chain',
      title: `${counts.wakes} sweeps in a row come as promised: Lambda cuts an unwanted loop after 16`,
      async run(signal) {
        const withinMs = counts.wakes * 60_000;
        return judgeChain(await use().chain.rounds(counts.wakes, withinMs, signal));
      },
    },
    {
      name: 'exit',
      title: 'a handler that exits ends its cell; the row has the cause',
      run: (signal) => endCells(use().system, { exit: /exit/ }, signal),
    },
    {
      name: 'memory',
      title: 'handlers that use up memory, by buffers and by objects, end their cell; the row has the cause',
      needs: ['memory limits'],
      run: (signal) => endCells(use().system, { buffers: /memory/, objects: /memory|heap/ }, signal),
    },
    {
      name: 'index',
      title: `how far the index lags behind the table, ${counts.looks} times`,
      run: (signal) => measureIndex(use().system, counts.looks, signal),
    },
    {
      name: 'metrics',
      title: 'CloudWatch has counted each reclaim in JobsReclaimed, and ReclaimDelay is within the bound',
      needs: ['metrics of log lines'],
      run: (signal) => readBack(parts.aws.region, use().system, { ...reclaims, signal }),
    },
    {
      name: 'throttle',
      title: `${counts.throttled} jobs are done with a maximum of 20 write units a second; none is charged a crash`,
      needs: ['throttling'],
      run: (signal) => throttle(use().system, counts.throttled, signal),
    },
    {
      name: 'alarms',
      title: 'three alarms go off when their cause is made, and back when it is repaired',
      needs: ['alarms'],
      run: (signal) => driveAlarms({ ...parts, system: use().system, signal }),
    },
    {
      name: 'contract',
      title: 'the contract suite of the job store passes on DynamoDB',
      needs: ['the repository', 'DynamoDB itself'],
      run: () => runContract(parts, use().system.outputs.ContractTableName),
    },
  ];
  return {
    steps,
    close() {
      opened?.chain.stop();
      opened?.system.close();
    },
  };
}

async function deploy({ choice, children, folder, app }: StepParts) {
  const outputs = join(folder, 'outputs.json');
  const cdk = join(dirname(findPackage('aws-cdk') ?? ''), 'bin', 'cdk');
  const context = { 'rehearsal:account': choice.account, 'rehearsal:region': choice.region };
  const config = { app: `"${process.execPath}" "${app}"`, context, notices: false, versionReporting: false };
  writeFileSync(join(folder, 'cdk.json'), JSON.stringify(config));
  const { AWS_PROFILE } = process.env;
  const child = children.start(
    process.execPath,
    [
      ...[cdk, 'deploy', '--ci', '--require-approval', 'never', '--outputs-file', outputs],
      // The CLI prefers keys in the environment to the variable.
      ...(AWS_PROFILE === undefined ? [] : ['--profile', AWS_PROFILE]),
    ],
    { cwd: folder, env: process.env },
  );
  const code = await child.ended;
  if (code !== 0) throw new Error(`cdk deploy ended with ${code}:\n${child.output().slice(-3000)}`);
  return JSON.parse(readFileSync(outputs, 'utf8'))[STACK];
}

/** @internal */
export async function readBack(
  region: string,
  { outputs }: System,
  options: Parameters<typeof readReclaims>[2],
): Promise<string[]> {
  if (options.expected === 0) throw new Error("there were no reclaims; run the step 'lapses' as well");
  const client = new CloudWatchClient({ region });
  try {
    const { reclaimed, longestMs } = await readReclaims(client, outputs.ServiceName, options);
    const note = `JobsReclaimed ${reclaimed} of ${options.expected}, longest ReclaimDelay ${seconds(longestMs)}; the bound is ${seconds(RECLAIM_DELAY_MS)}`;
    if (reclaimed !== options.expected || longestMs > RECLAIM_DELAY_MS) throw new Error(note);
    return [note];
  } finally {
    client.destroy();
  }
}

async function runContract({ children, aws }: StepParts, table: string): Promise<string[]> {
  const vitest = join(dirname(findPackage('vitest') ?? ''), 'vitest.mjs');
  const child = children.start(process.execPath, [vitest, 'run', '--config', contractConfig], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, AWS_REGION: aws.region, REHEARSAL_CONTRACT_TABLE: table },
  });
  const code = await child.ended;
  const summary = /Tests\s+(.*)/.exec(child.output())?.[1] ?? '';
  if (code !== 0) throw new Error(`the contract suite failed: ${summary}\n${child.output().slice(-3000)}`);
  return [summary];
}
