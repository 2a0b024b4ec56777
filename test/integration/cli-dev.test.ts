import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_HEADER, TOKEN_PARAMETER } from '../../lib/tools/console/page-messages.ts';
import { LOCAL_STATE_FILE } from '../../lib/tools/dev/state-file.ts';
import { bareEnvironment, runInProcess } from '../support/cli.ts';
import { sqsClient } from '../support/engines.ts';

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

/** Starts `leasehold dev` with a module, and waits until it has said something. */
async function devWith(
  module: string,
  environment: Readonly<Record<string, string>> = {},
  ...args: string[]
) {
  const folder = newFolder();
  const file = join(folder, 'jobs.ts');
  writeFileSync(file, module);
  writeFileSync(join(folder, '.env'), 'DATABASE_URL=postgres://file\nLEVEL=file\n');
  const child = spawn(process.execPath, [bin, 'dev', 'jobs.ts', '--workers', '1', ...args], {
    cwd: folder,
    env: { ...bareEnvironment(), ...environment },
  });
  started.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const ended = once(child, 'exit');
  const hears = (words: RegExp) => expect.poll(() => said, { timeout: 90_000, interval: 100 }).toMatch(words);
  return { folder, file, child, ended, hears, said: () => said };
}

const jobs = (word: string) => `
import { createRegistry, defineJob } from 'leasehold';
import { createProducer } from 'leasehold/producer';
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
const validate = (value) =>
  typeof value.name === 'string' ? { value } : { issues: [{ message: 'no ' + process.env.LEVEL, path: ['name'] }] };
export const registry = createRegistry([defineJob({
  type: 'greet', payload: any,
  async run({ payload, attempt }, { log }) {
    log.info('${word}', { name: payload.name });
    console.log('plain words');
    if (attempt === 1 && payload.name === 'Eve') throw new Error('not her');
    const { DATABASE_URL, LEVEL, AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL_SQS } = process.env;
    log.info('sees', { DATABASE_URL, LEVEL, AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL_SQS });
    if (payload.name === 'Eve') await createProducer().send('greet', { name: 'Mallory' }, { jobId: 'sent' });
    return {};
  },
}), defineJob({
  type: 'answer', payload: { '~standard': { version: 1, vendor: 'test', validate } }, run: () => '${word}',
})]);
`;

describe('leasehold dev', () => {
  let dev: Awaited<ReturnType<typeof devWith>>;
  let directory: string;
  const run = (...args: readonly string[]) => runInProcess(args, { directory });
  const send = (...args: readonly string[]) => run('send', ...args);
  beforeAll(async () => {
    const mine = { LEVEL: 'shell', AWS_ACCESS_KEY_ID: 'MINE', AWS_SECRET_ACCESS_KEY: 'MINE' };
    dev = await devWith(jobs('hello'), mine, '--aws', 'mine');
    directory = join(dev.folder, 'deep', 'below');
    mkdirSync(directory, { recursive: true });
  });

  it('runs the jobs of a module, and says their logs, errors and ends', async () => {
    await dev.hears(/leasehold -- send greet '\{\}'/);
    await dev.hears(/Console/);
    expect((await send('greet', '{"name":"Eve"}', '--job-id', 'first')).code).toBe(0);
    await dev.hears(/first greet #1 +hello +name=Eve/);
    await dev.hears(/plain words/);
    await dev.hears(/first greet #1 .*Error: not her/);
    await dev.hears(/first greet #2 +done after/);
    // The handler sees the user's AWS settings; Leasehold's own clients, here and there, use the stack's.
    await dev.hears(
      /first greet #2 +sees +DATABASE_URL=postgres:\/\/file LEVEL=shell AWS_ACCESS_KEY_ID=MINE\s*$/m,
    );
    await dev.hears(/sent greet #1 +done after/);
    expect((await run('dev', '--env')).stdout).toMatch(
      /^LEASEHOLD_QUEUE_URL=http:\/\/127\.0\.0\.1:\d+\/.*$/m,
    );
  });

  it('is found by other commands in its folder and below', async () => {
    const page = await run('console', '--json');
    expect(page.json()).toMatchObject({
      url: expect.stringContaining('#token='),
      startedBy: 'leasehold dev',
    });
    const { origin, hash } = new URL(page.json<{ url: string }>().url);
    const unsent = await fetch(`${origin}/api/jobs/unsent`, {
      headers: { [TOKEN_HEADER]: hash.slice(`#${TOKEN_PARAMETER}=`.length) },
    });
    expect([unsent.status, await unsent.json()]).toEqual([
      404,
      {
        ok: false,
        message: expect.stringMatching(/not started, or unknown\. In the queue \d+ messages? wait/),
      },
    ]);
    const second = await runInProcess(['dev', '--no-demo'], { directory: dev.folder });
    expect([second.code, second.stderr]).toEqual([
      2,
      expect.stringContaining(`already runs in this folder (process ${dev.child.pid})`),
    ]);
  });

  it('checks a job before it is sent, and says why one was rejected', async () => {
    const misspelled = await send('gret', '{"name":"Ada"}');
    expect([misspelled.code, misspelled.stderr]).toEqual([
      2,
      expect.stringMatching(/Not sent: no handler for type 'gret'\. Did you mean 'greet'\?.*--force/),
    ]);
    // The schema sees the handlers' environment, not that of this shell.
    const refused = await send('answer', '{"nam":"Ada"}');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/payload is refused by the schema of type 'answer': name: no shell/),
    ]);
    const input = '{"name":"Ada"}\n{"nam":"Ben"}\n';
    const lines = await runInProcess(['send', 'answer', '--file', '-', '--json'], { directory, input });
    expect(lines.json()).toMatchObject({ sent: 1, failed: 1, failures: [{ line: 2 }] });
    expect((await send('answer', '{"nam":"Ada"}', '--force', '--job-id', 'forced')).code).toBe(0);
    await dev.hears(/forced answer #1 .*retried.*name: no shell/);
    const { stdout } = await run('dev', '--env', '--json');
    const { AWS_ENDPOINT_URL_SQS, AWS_ACCESS_KEY_ID, LEASEHOLD_QUEUE_URL } = JSON.parse(stdout);
    const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: 'local' };
    const sqs = sqsClient(AWS_ENDPOINT_URL_SQS, { credentials });
    await sqs.send(new SendMessageCommand({ QueueUrl: LEASEHOLD_QUEUE_URL, MessageBody: '{"typ":"greet"}' }));
    sqs.destroy();
    await dev.hears(/message rejected: .*Did you mean 'type'\?.*show bad:/);
  });

  it('takes up a change of the file, runs the last version of a broken one, and ends with 0 on Ctrl-C', async () => {
    writeFileSync(dev.file, `${jobs('second')}\nthrow new Error('half written');`);
    await dev.hears(/half written[\s\S]*jobs\.ts cannot be loaded: jobs run with its last version/);
    expect(dev.said()).not.toMatch(/start again/);
    const resultOf = async (...args: readonly string[]) =>
      (await send('answer', '{"name":"Ada"}', '--wait', '--json', ...args)).json<{ job: object }>().job;
    expect(await resultOf()).toMatchObject({ result: 'hello' });
    writeFileSync(dev.file, jobs('second'));
    await dev.hears(/jobs\.ts changed/);
    expect(await resultOf()).toMatchObject({ result: 'second' });
    dev.child.kill('SIGINT');
    expect(await dev.ended).toEqual([0, null]);
    expect(existsSync(join(dev.folder, LOCAL_STATE_FILE))).toBe(false);
    const after = await run('ls');
    expect([after.code, after.stderr]).toEqual([2, expect.stringContaining("'leasehold dev'")]);
  });
});
