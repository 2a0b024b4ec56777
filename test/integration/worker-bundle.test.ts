import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Bundles, buildBundles } from '../../lib/local/bundles.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const LEASE_MS = 2000;
const support = join(import.meta.dirname, '..', 'support');
let stack: WorkerStack;
let bundles: Bundles;
let stopSweeping: () => Promise<void>;

beforeEach(async () => {
  bundles = await buildBundles(['worker'], { entries: { worker: join(support, 'bundled-worker.ts') } });
  stack = await startWorkerStack({ leaseMs: LEASE_MS });
  stopSweeping = stack.sweepOften();
});
afterEach(async () => {
  await stopSweeping();
  await stack.close();
  bundles.remove();
});

describe('a worker bundled into one file', () => {
  it('keeps the lease of a handler that blocks the event loop, by a second copy of the file as its heart', async () => {
    expect(readdirSync(bundles.folder('worker')).filter((name) => name.endsWith('.mjs'))).toEqual([
      'index.mjs',
    ]);
    await stack.send('busy', { ms: 3 * LEASE_MS }, { jobId: 'a' });
    const messages = await stack.direct.queue.receive({ max: 1, waitSeconds: 5 });
    const child = spawn(
      process.execPath,
      [join(support, 'run-bundle.ts'), join(bundles.folder('worker'), 'index.mjs')],
      { env: { ...process.env, ...stack.environment }, stdio: ['pipe', 'pipe', 'inherit'] },
    );
    child.stdin.end(JSON.stringify(messages));
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('failures: []') });
    expect(await stack.read('a')).toMatchObject({ status: 'done', attempt: 1, crashes: 0 });
  });
});
