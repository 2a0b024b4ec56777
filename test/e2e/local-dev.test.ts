import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { localEnvironment } from '../../lib/tools/dev/local-environment.ts';
import { LOCAL_STATE_FILE, type LocalState } from '../../lib/tools/dev/state-file.ts';
import { isDeep } from '../support/depth.ts';
import { sqsClient } from '../support/engines.ts';
import { isAlive } from '../support/is-alive.ts';

const COMMAND = join(import.meta.dirname, '..', '..', 'bin', 'leasehold.ts');
const PACKAGE = join(import.meta.dirname, '..', '..', 'package.json');
const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'leasehold-dev-'));
  cleanUps.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Without the engines of the suite. */
function userEnvironment(): NodeJS.ProcessEnv {
  const { AWS_ENDPOINT_URL_DYNAMODB: _a, AWS_ENDPOINT_URL_SQS: _b, ...environment } = process.env;
  return environment;
}

/** Starts `leasehold dev` as a shell would: leader of a process group of its own, in this folder. */
function dev(cwd: string, ...args: string[]) {
  const child = spawn(process.execPath, [COMMAND, 'dev', ...args], {
    cwd,
    // Some machines that run tests ask for colors, which would come between the words.
    env: { ...userEnvironment(), NO_COLOR: '1', FORCE_COLOR: undefined },
    detached: true,
  });
  const { pid = 0 } = child;
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  cleanUps.push(() => killGroup(pid));
  return {
    child,
    pid,
    text: () => text,
    ended: once(child, 'close') as Promise<[number | null, string | null]>,
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone already, as it should be.
  }
}

/** The file that other terminals find the stack by, once it is there. */
async function stateIn(cwd: string, child: ChildProcess, text: () => string): Promise<LocalState> {
  const file = join(cwd, LOCAL_STATE_FILE);
  for (;;) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${text()}`);
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as LocalState;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function rowOf(state: LocalState, jobId: string, isSo: (row: Record<string, unknown>) => boolean) {
  const client = createDynamoDbClient({
    clock: systemClock,
    config: {
      ...localEnvironment.clientConfig(state.environment),
      endpoint: state.environment.AWS_ENDPOINT_URL_DYNAMODB ?? '',
    },
  });
  const table = createDynamoDbTable({ client, tableName: state.tableName });
  for (;;) {
    const row = await table.read(jobId);
    if (row !== undefined && isSo(row)) {
      client.destroy();
      return row;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('leasehold dev', () => {
  it('runs the first minute once and ends with 0, all jobs as they should be and nothing left behind', async () => {
    const cwd = folder();
    const { pid, text, ended } = dev(cwd, '--once');
    const [code] = await ended;
    expect({ code, text: text() }).toMatchObject({ code: 0 });
    expect(text()).toMatch(/Console\s+http:\/\/127\.0\.0\.1:\d+\/#token=/);
    // A clone has no binary to run with npx.
    expect(text()).toMatch(/npm run -s leasehold -- send count-primes/);
    expect(text()).toContain('killed with SIGKILL');
    expect(text()).toMatch(/8 of 8 jobs done/);
    expect(text()).toMatch(/1 poison job quarantined after it had killed 3 workers/);
    await expect.poll(() => isAlive(-pid)).toBe(false);
    expect(existsSync(join(cwd, LOCAL_STATE_FILE))).toBe(false);
  });

  it.runIf(isDeep)(
    'stays until Ctrl-C, then stops cleanly, keeps what it was told to keep, and charges no job for it',
    async () => {
      const cwd = folder();
      const first = dev(cwd, '--no-demo', '--data', 'kept');
      const state = await stateIn(cwd, first.child, first.text);
      const sqs = sqsClient(
        state.environment.AWS_ENDPOINT_URL_SQS ?? '',
        localEnvironment.clientConfig(state.environment),
      );
      // What a clone is told to run is its own script, from the folder of the clone.
      const lineIn = (text: string) => /npm run -s leasehold -- (send .*)$/m.exec(text)?.[1];
      await expect.poll(() => lineIn(first.text())).toBeDefined();
      expect(JSON.parse(readFileSync(PACKAGE, 'utf8')).scripts.leasehold).toBe('node bin/leasehold.ts');
      const sent = spawnSync(`"${process.execPath}" "${COMMAND}" ${lineIn(first.text())} --job-id printed`, {
        cwd,
        shell: true,
        env: userEnvironment(),
      });
      expect([sent.status, String(sent.stderr)]).toEqual([0, expect.any(String)]);
      await rowOf(state, 'printed', ({ status }) => status === 'done');
      const MessageBody = JSON.stringify({
        type: 'count-primes',
        payload: { below: 100 },
        jobId: 'kept-job',
      });
      await sqs.send(new SendMessageCommand({ QueueUrl: state.queueUrl, MessageBody }));
      const long = JSON.stringify({
        type: 'slow-steps',
        payload: { steps: 9, stepMs: 500 },
        jobId: 'long-job',
      });
      await sqs.send(new SendMessageCommand({ QueueUrl: state.queueUrl, MessageBody: long }));
      sqs.destroy();
      await rowOf(state, 'kept-job', ({ status }) => status === 'done');
      await rowOf(
        state,
        'long-job',
        ({ status, checkpointSeq }) => status === 'running' && checkpointSeq !== 0,
      );
      process.kill(-first.pid, 'SIGINT');
      expect(await first.ended).toEqual([0, null]);
      await expect.poll(() => isAlive(-first.pid)).toBe(false);
      expect(existsSync(join(cwd, LOCAL_STATE_FILE))).toBe(false);

      const second = dev(cwd, '--no-demo', '--data', 'kept');
      const again = await stateIn(cwd, second.child, second.text);
      expect(await rowOf(again, 'kept-job', () => true)).toMatchObject({
        status: 'done',
        result: '{"primes":25}',
      });
      // The one that ran when it was stopped was taken back; it goes on, and is charged nothing for it.
      expect(await rowOf(again, 'long-job', ({ status }) => status === 'done')).toMatchObject({
        ...{ crashes: 0, errors: 0, attempt: 2 },
        act0: expect.objectContaining({ act: 'takeBack' }),
      });
      // Another folder, the same data: two engines would write to it.
      const third = dev(folder(), '--no-demo', '--data', join(cwd, 'kept'));
      expect(await third.ended).toEqual([2, null]);
      expect(third.text()).toMatch(
        /another 'leasehold dev' keeps its data in .+kept' \(process \d+\); stop that one/,
      );
      // To the process alone, as a supervisor would; its children are its own to stop.
      second.child.kill('SIGTERM');
      expect(await second.ended).toEqual([0, null]);
      await expect.poll(() => isAlive(-second.pid)).toBe(false);
    },
  );
});
