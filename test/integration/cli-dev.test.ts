import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { LOCAL_STATE_FILE } from '../../lib/local/state-file.ts';
import { runProcess } from '../support/cli.ts';

const folders: string[] = [];
/** A new one for each run: what a run that failed left in its own cannot fail the next. */
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-dev-'));
  folders.push(folder);
  return folder;
};
const bin = join(import.meta.dirname, '..', '..', 'bin', 'leasehold.ts');
const started: ReturnType<typeof spawn>[] = [];
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

it('runs a local stack that other commands in its folder find, until Ctrl-C', {
  timeout: 180_000,
}, async () => {
  const folder = newFolder();
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [bin, 'dev', '--quiet', '--workers', '1'], {
    ...{ cwd: folder, env: { PATH, HOME } },
  });
  started.push(child);
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const ended = once(child, 'exit');
  const file = join(folder, LOCAL_STATE_FILE);
  // The stack is found by its file a moment before it tells where its console is.
  await expect
    .poll(() => (existsSync(file) && said.includes('Console')) || child.exitCode !== null, {
      ...{ timeout: 90_000, interval: 100 },
    })
    .toBe(true);
  expect([child.exitCode, said]).toEqual([null, expect.stringContaining('Console')]);

  const page = await runProcess(['console', '--json'], { directory: folder });
  expect(page.json()).toMatchObject({ url: expect.stringContaining('#token='), startedBy: 'leasehold dev' });
  const sent = await runProcess(['send', 'no-such-type', '1', '--job-id', 'mine', '--json'], {
    directory: folder,
  });
  expect(sent.json()).toMatchObject({ outcome: 'sent', jobId: 'mine' });
  // The worker claims it, finds no handler, and hands it back: the row is there.
  await expect
    .poll(async () => (await runProcess(['show', 'mine', '--json'], { directory: folder })).code, {
      ...{ timeout: 60_000, interval: 500 },
    })
    .toBe(0);

  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  expect(existsSync(file)).toBe(false);
  const after = await runProcess(['ls'], { directory: folder });
  expect([after.code, after.stderr]).toEqual([2, expect.stringContaining("'leasehold dev'")]);
});
