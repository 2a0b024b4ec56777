import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bundleWorker } from '../../lib/tools/bundle/bundle.ts';
import { startWorker } from '../../lib/worker/hosts/start-worker.ts';
import { isDeep } from '../support/depth.ts';
import { local } from '../support/engines.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const support = join(import.meta.dirname, '..', 'support');
const JOBS = join(support, 'traced-jobs.ts');
const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'leasehold.ts');
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SENDER = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${SENDER}-01`;
const keys = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'x' };

interface Told {
  readonly name: string;
  readonly pid: number;
  readonly trace: string;
  readonly id: string;
  readonly parent?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

let folder: string;
let file: string;
let stack: WorkerStack;
let tests = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-spans-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  file = join(folder, `spans-${++tests}.jsonl`);
  process.env.SPANS_FILE = file;
  stack = await startWorkerStack({ leaseMs: 20_000, cells: 1 });
});
afterEach(async () => {
  delete process.env.SPANS_FILE;
  await stack.close();
});

const told = (): Told[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Told)
    : [];
const sendOne = () => stack.send('render', {}, { jobId: 'a', traceparent });
const untilDone = () => stack.until('a', (job) => job?.status === 'done');

describe('spans of a cell', () => {
  it('go to the SDK that the jobs module registers; what it gathered is flushed before the cell ends', async () => {
    const { settings, tableName, queueUrl } = stack;
    const host = startWorker({
      configuration: {
        settings,
        resources: { tableName, queueUrl, serviceName: 'test', eventBusName: 'default' },
      },
      dynamodb: { ...local, endpoint: stack.dynamodb.endpoint },
      sqs: { ...local, endpoint: stack.sqs.endpoint },
      ...{ signals: false, jobs: JOBS },
    });
    await sendOne();
    await untilDone();
    expect(told()).toEqual([]);
    await host.stop();
    // The first attempt ended its process, and the span of its run with it.
    const [query, run, ...others] = told();
    expect(others).toEqual([]);
    expect(run).toMatchObject({ name: 'run render', trace: TRACE, parent: SENDER });
    expect(run?.attributes).toMatchObject({ 'messaging.message.id': 'a', 'leasehold.attempt': 2 });
    expect(query).toMatchObject({ name: 'query', trace: TRACE, parent: run?.id });
    expect(run?.pid).not.toBe(process.pid);
  });

  it('and of its host are there where NODE_OPTIONS registers the SDK, with the cause of a crash', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'work', JOBS, '--cells', '1'], {
      env: {
        ...{ ...process.env, ...stack.environment, ...keys, SPANS_DELAY_MS: '50' },
        NODE_OPTIONS: `--import=${join(support, 'spans-to-file.ts')}`,
      },
      stdio: 'ignore',
    });
    await sendOne();
    await untilDone();
    const summary = () =>
      told()
        .map(({ name, pid, attributes }) => [
          name,
          pid === child.pid ? 'host' : 'cell',
          attributes['leasehold.attempt'] ?? '',
          attributes['leasehold.outcome'] ?? '',
        ])
        .map((each) => each.join(' ').trim())
        .sort();
    await expect
      .poll(summary)
      .toEqual([
        'claim render host 1',
        'end render host 1 restarted',
        'end render host 2 done',
        'query cell',
        'run render cell 2',
      ]);
    const crash = told().find(({ attributes }) => attributes['leasehold.outcome'] === 'restarted');
    expect(crash).toMatchObject({ trace: TRACE, parent: SENDER, status: { code: 2 } });
    expect(JSON.stringify(crash)).toContain('exit code 3');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it.runIf(isDeep)(
    'of a Lambda bundle use the copy of the API that the jobs module brought, and flush before the freeze',
    async () => {
      const bundled = join(folder, 'worker');
      await bundleWorker(JOBS, bundled);
      await sendOne();
      const messages = await stack.direct.queue.receive({ max: 1, waitSeconds: 5 });
      const child = spawn(process.execPath, [join(support, 'run-bundle.ts'), join(bundled, 'index.mjs')], {
        env: { ...process.env, ...stack.environment },
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      child.stdin.end(JSON.stringify(messages));
      expect(await once(child, 'exit')).toEqual([0, null]);
      expect(await stack.read('a')).toMatchObject({ status: 'done', attempt: 2 });
      expect(told().map(({ name, trace }) => [name, trace])).toEqual([
        ['query', TRACE],
        ['run render', TRACE],
      ]);
    },
  );
});
