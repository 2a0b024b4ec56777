import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { startWorkerProcess, type WorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { isDeep } from '../support/depth.ts';
import { sqsEndpoint } from '../support/engines.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const docs = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'producing.md'), 'utf8');
const snippet = (language: string) => docs.match(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``))?.[1] ?? '';

const greet = defineJob({
  type: 'greet',
  payload: z.object({ name: z.string() }),
  run: ({ payload }) => `hello ${payload.name}`,
});
const registry = createRegistry([greet]);

let stack: WorkerStack;
let host: WorkerProcess;
beforeEach(async () => {
  stack = await startWorkerStack();
  host = startWorkerProcess({ parts: stack.worker(registry), signals: false });
});
afterEach(async () => {
  await host.stop();
  await stack.close();
});

async function runProgram(command: string, args: readonly string[]) {
  const child = spawn(command, args, {
    env: {
      ...process.env,
      LEASEHOLD_QUEUE_URL: stack.queueUrl,
      AWS_ENDPOINT_URL_SQS: sqsEndpoint(),
      AWS_DEFAULT_REGION: 'eu-west-1',
      AWS_PAGER: '',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code, errors };
}

/** What a machine lacks is not what is tested here. */
const has = async (command: string, ...args: readonly string[]): Promise<boolean> => {
  const child = spawn(command, args, { stdio: 'ignore' });
  const code = await Promise.race([
    once(child, 'exit').then(([status]) => status),
    once(child, 'error').then(() => 127),
  ]);
  return code === 0;
};
const hasBoto = await has('python3', '-c', 'import boto3');
const hasCli = isDeep && (await has('aws', '--version'));

describe('a producer in another language, as docs/guides/producing.md shows it', () => {
  it.skipIf(!hasBoto)('is a Python program (needs python3 with boto3)', async () => {
    expect(await runProgram('python3', ['-c', snippet('python')])).toEqual({ code: 0, errors: '' });
    const job = await stack.until('from-python', (each) => each?.status === 'done');
    expect(job).toMatchObject({ result: 'hello Ada' });
  });

  it.skipIf(!hasCli)('is the AWS command line (needs aws, and the deep run)', async () => {
    // Version 1 of the command line does not read the variable for the endpoint.
    const script = snippet('sh').replace('aws sqs', 'aws --endpoint-url "$AWS_ENDPOINT_URL_SQS" sqs');
    expect(await runProgram('sh', ['-c', script])).toEqual({ code: 0, errors: '' });
    const job = await stack.until('from-the-command-line', (each) => each?.status === 'done');
    expect(job).toMatchObject({ result: 'hello Ada' });
  });
});
