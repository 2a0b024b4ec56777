import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type HostEvent, LambdaFunction } from '../../lib/tools/dev/lambda-host/lambda-function.ts';

const folders: string[] = [];
const functions: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(functions.splice(0).map((each) => each.stop()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A function whose bundle is this source text. */
function lambda(source: string, options: { timeoutMs?: number; concurrency?: number } = {}) {
  const codeDir = mkdtempSync(join(tmpdir(), 'leasehold-host-'));
  folders.push(codeDir);
  writeFileSync(join(codeDir, 'index.mjs'), source);
  const events: HostEvent[] = [];
  const created = new LambdaFunction({
    functionName: 'subject',
    codeDir,
    handler: 'index.handler',
    environment: { GREETING: 'hello' },
    timeoutMs: options.timeoutMs ?? 30_000,
    initTimeoutMs: 30_000,
    concurrency: options.concurrency ?? 1,
    observe: (event) => events.push(event),
  });
  functions.push(created);
  return Object.assign(created, { events });
}

const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
};

describe('the Lambda-like host', () => {
  it('runs a handler with its event, context and environment, and keeps the process warm', async () => {
    const subject = lambda(`
      let calls = 0;
      export const handler = async (event, context) => ({
        event, calls: ++calls, greeting: process.env.GREETING, name: context.functionName, pid: process.pid,
        remaining: context.getRemainingTimeInMillis(), home: process.env.LEASEHOLD_UNRELATED ?? 'unset',
      });`);
    const first = await subject.invoke({ n: 1 });
    const second = await subject.invoke({ n: 2 });
    expect(first).toMatchObject({
      outcome: 'response',
      payload: { event: { n: 1 }, calls: 1, greeting: 'hello', name: 'subject', home: 'unset' },
    });
    expect(second).toMatchObject({ outcome: 'response', payload: { calls: 2, event: { n: 2 } } });
    const { remaining } = (first as { payload: { remaining: number } }).payload;
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThanOrEqual(30_000);
  });

  it('reports a thrown error as a function error and goes on in the same process', async () => {
    const subject = lambda(`
      export const handler = async (event) => {
        if (event.bad) throw new RangeError('too far');
        return process.pid;
      };`);
    const before = await subject.invoke({});
    const failed = await subject.invoke({ bad: true });
    const after = await subject.invoke({});
    expect(failed).toMatchObject({
      outcome: 'functionError',
      failure: { errorType: 'RangeError', errorMessage: 'too far' },
    });
    expect(after).toEqual(before);
  });

  it('kills the process at the function timeout, even one that never yields, and cold-starts the next', async () => {
    const subject = lambda(
      'export const handler = async (event) => { while (event.spin); return process.pid; };',
      { timeoutMs: 700 },
    );
    const before = await subject.invoke({});
    const overrun = await subject.invoke({ spin: true });
    const after = await subject.invoke({});
    expect(overrun).toMatchObject({
      outcome: 'functionError',
      failure: { errorType: 'Sandbox.Timedout', errorMessage: expect.stringContaining('after 0.70 seconds') },
    });
    expect(after.outcome).toBe('response');
    expect(after).not.toEqual(before);
  });

  it('tells an exit in a handler from a kill, and cold-starts after both', async () => {
    const subject = lambda(`
      export const handler = async (event) => {
        if (event.exit) process.exit(7);
        if (event.die) { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}); }
        return process.pid;
      };`);
    const exited = await subject.invoke({ exit: true });
    const killed = await subject.invoke({ die: true });
    const after = await subject.invoke({});
    expect(exited).toMatchObject({
      failure: { errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining('exit status 7') },
    });
    expect(killed).toMatchObject({ failure: { errorMessage: expect.stringContaining('signal: killed') } });
    expect(after.outcome).toBe('response');
  });

  it('says why a bundle cannot be loaded, or has no such handler', async () => {
    const broken = lambda(`throw new Error('cannot start'); export const handler = 1;`);
    const nameless = lambda('export const other = () => {};');
    expect(await broken.invoke({})).toMatchObject({
      failure: { errorType: 'Runtime.ImportModuleError', errorMessage: 'cannot start' },
    });
    expect(await nameless.invoke({})).toMatchObject({
      failure: { errorMessage: expect.stringContaining("no function 'handler'") },
    });
  });

  it('runs as many at once as its concurrency allows and throttles the next', async () => {
    const subject = lambda(
      'export const handler = async ({ ms }) => { await new Promise((r) => setTimeout(r, ms)); return process.pid; };',
      { concurrency: 2 },
    );
    const both = [subject.invoke({ ms: 400 }), subject.invoke({ ms: 400 })];
    expect(subject.free()).toBe(0);
    expect(await subject.invoke({})).toEqual({ outcome: 'throttled' });
    const pids = (await Promise.all(both)).map((each) => (each as { payload: number }).payload);
    expect(new Set(pids).size).toBe(2);
    expect(subject.free()).toBe(2);
  });

  it('pauses, resumes and kills a process by its id', async () => {
    const subject = lambda(
      'export const handler = async ({ ms }) => { await new Promise((r) => setTimeout(r, ms)); return "done"; };',
      { concurrency: 1 },
    );
    await subject.warm(1);
    const [{ pid } = { pid: 0 }] = subject.sandboxes();
    subject.find(pid)?.pause();
    expect(subject.sandboxes()).toMatchObject([{ pid, isPaused: true }]);
    expect(subject.free()).toBe(0);
    subject.find(pid)?.resume();
    const running = subject.invoke({ ms: 60_000 });
    await until(() => subject.sandboxes()[0]?.state === 'busy');
    subject.find(pid)?.kill();
    expect(await running).toMatchObject({
      failure: { errorMessage: expect.stringContaining('signal: killed') },
    });
    expect(subject.sandboxes()).toEqual([]);
    expect(subject.events).toContainEqual({
      kind: 'sandbox',
      sandbox: expect.objectContaining({ pid, state: 'gone', ending: 'signal: killed' }),
    });
  });
});
