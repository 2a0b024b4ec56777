import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, bundleWorker } from '../../lib/tools/bundle/bundle.ts';
import { isDeep } from '../support/depth.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const LEASE_MS = 2000;
const root = join(import.meta.dirname, '..', '..');
const support = join(root, 'test', 'support');
const entry = join(support, 'bundled-worker.ts');
let folder: string;
let stack: WorkerStack;
let stopSweeping: () => Promise<void>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-bundle-'));
  // A function's code stands alone: a package.json further up must not say what its .js files are.
  writeFileSync(join(folder, 'package.json'), '{}');
  stack = await startWorkerStack({ leaseMs: LEASE_MS });
  stopSweeping = stack.sweepOften();
});
afterAll(async () => {
  await stopSweeping();
  await stack.close();
  rmSync(folder, { recursive: true });
});

/** Gives the one message in the queue to a bundle, in a process of its own. */
async function invoke(file: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
  const messages = await stack.direct.queue.receive({ max: 1, waitSeconds: 5 });
  const child = spawn(process.execPath, [join(support, 'run-bundle.ts'), file], {
    env: { ...process.env, ...stack.environment, ...variables },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(JSON.stringify(messages));
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  expect({ code, output }, errors).toMatchObject({
    code: 0,
    output: expect.stringContaining('failures: []'),
  });
  return output;
}

/** Each makes one file of a user's own function, and says where it is. */
const bundlers = {
  'as an ES module': async () => {
    await bundle({ entryPoints: { index: entry }, outdir: join(folder, 'esm') });
    return { file: join(folder, 'esm', 'index.mjs') };
  },
  'as CommonJS': async () => {
    const file = join(folder, 'cjs', 'index.cjs');
    await build({
      ...{ entryPoints: [entry], outfile: file, bundle: true, format: 'cjs', platform: 'node' },
      logLevel: 'error',
      // What it is for: an ES module has no __filename, and CommonJS has no import.meta.
      logOverride: { 'empty-import-meta': 'silent' },
    });
    return { file };
  },
  'by CDK’s NodejsFunction with its defaults': async () => {
    const { App, Stack } = await import('aws-cdk-lib');
    const { Runtime } = await import('aws-cdk-lib/aws-lambda');
    const { NodejsFunction } = await import('aws-cdk-lib/aws-lambda-nodejs');
    const app = new App({ analyticsReporting: false, outdir: join(folder, 'cdk.out') });
    new NodejsFunction(new Stack(app, 'Own'), 'Worker', {
      ...{ entry, runtime: Runtime.NODEJS_24_X, projectRoot: root },
      depsLockFilePath: join(root, 'package-lock.json'),
    });
    const { directory } = app.synth();
    const asset = readdirSync(directory).find((name) => name.startsWith('asset.')) ?? '';
    cpSync(join(directory, asset), join(folder, 'nodejs'), { recursive: true });
    // It leaves the SDK to the runtime, which finds it by this variable.
    return { file: join(folder, 'nodejs', 'index.js'), NODE_PATH: join(root, 'node_modules') };
  },
};

const bundled = Object.entries(bundlers).filter(([how]) => isDeep || how === 'as an ES module');
describe.each(bundled)('a function of the user’s own, bundled %s', (how, make) => {
  it('is its own cell: a handler that ends the process ends its job’s attempt, and not the function', async () => {
    const { file, ...variables } = await make();
    const jobId = how.replaceAll(/\W+/g, '-');
    await stack.send('deadly', { deaths: 2 }, { jobId });
    await invoke(file, variables);
    const job = await stack.read(jobId);
    expect(job).toMatchObject({ status: 'done', attempt: 3, crashes: 2, result: { attempt: 3 } });
    expect(job?.claims[0]?.cause).toMatch(/exit code 7/);
  });
});

describe('the worker of a jobs module', () => {
  beforeAll(() => bundleWorker(join(support, 'bundled-jobs.ts'), join(folder, 'worker')));

  it('is a host without the module, and a cell with it; the host keeps the lease of a handler that computes', async () => {
    const files = readdirSync(join(folder, 'worker')).filter((name) => name.endsWith('.mjs'));
    expect(files.toSorted()).toEqual(['cell.mjs', 'index.mjs']);
    await stack.send('where', { ms: 1.5 * LEASE_MS }, { jobId: 'isolated' });
    const output = await invoke(join(folder, 'worker', 'index.mjs'));
    expect(await stack.read('isolated')).toMatchObject({ status: 'done', attempt: 1, crashes: 0 });
    // Its top level ran once, in the cell.
    expect(output.match(/the top level runs/g)).toHaveLength(1);
  });

  it('runs beside its host where the settings want no isolation', async () => {
    await stack.send('where', { ms: 0 }, { jobId: 'beside' });
    const output = await invoke(join(folder, 'worker', 'index.mjs'), { LEASEHOLD_ISOLATION: 'none' });
    const job = await stack.read('beside');
    expect(job).toMatchObject({ status: 'done', result: { isCell: false } });
    expect(output.match(/the top level runs/g)).toHaveLength(1);
  });
});
