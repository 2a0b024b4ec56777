import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LEAST_REAPER_CONCURRENCY } from '../../lib/cdk/props/check-props.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { LambdaFunction } from '../../lib/tools/dev/lambda-host/lambda-function.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { REPORT_BYTES, REPORT_DESCRIPTOR, readExitReport } from '../../lib/worker/cells/exit-report.ts';
import { openUnnamedFile } from '../../lib/worker/cells/unnamed-file.ts';
import { accountWith, nodeAsOnLambda } from '../support/as-on-lambda.ts';
import { type Deployed, deploy } from './deployed.ts';
import { projectRoot, withoutValidation } from './support.ts';

withoutValidation();

const folder = mkdtempSync(join(tmpdir(), 'leasehold-lambda-'));
const surroundings = nodeAsOnLambda(folder);
const { execPath } = process;
const module = join(projectRoot, 'test', 'support', 'jobs-on-lambda.ts');
const exitReport = join(projectRoot, 'lib', 'worker', 'cells', 'exit-report.ts');
let deployed: Deployed;

/** The three bundles with the variables, log level, `/dev` and share of a core that Lambda would give them. */
describe.skipIf('missing' in surroundings)('as on Lambda', () => {
  beforeAll(async () => {
    deployed = await deploy(module, {
      logLevel: 'WARN',
      functionTimeout: Duration.minutes(5),
      workerFunctionProps: { environment: { NODE_OPTIONS: '--max-http-header-size=20000' } },
    });
    if ('program' in surroundings) process.execPath = surroundings.program;
  }, 120_000);
  afterAll(async () => {
    process.execPath = execPath;
    await deployed.stop();
    if ('program' in surroundings) await surroundings.end();
    rmSync(folder, { recursive: true });
  });

  it('runs a handler with the variables of the user, and maps its stack', async () => {
    const { functions, queues, batch, storeAt } = deployed;
    const event = await batch(queues.queue, [jobBody('look', {}, { jobId: 'look' })]);
    expect(await functions.worker.invoke(event)).toMatchObject({ payload: { batchItemFailures: [] } });
    expect(await storeAt(0).read('look')).toMatchObject({
      status: 'done',
      result: {
        NODE_OPTIONS: '--max-http-header-size=20000 --enable-source-maps',
        devices: ['0', '1', '2'],
        stack: expect.stringContaining('jobs-on-lambda.ts'),
      },
    });
  });

  it('reports why V8 gave up', () => {
    const words = openUnnamedFile(REPORT_BYTES);
    const exhaust = `import { reportFatalErrors } from ${JSON.stringify(exitReport)};
      reportFatalErrors();
      for (const hoard = []; ; ) hoard.push(new Array(100_000).fill(Math.random()));`;
    const options = ['--max-old-space-size=30', '--input-type=module', '--eval', exhaust];
    spawnSync(process.execPath, options, { stdio: [...Array(REPORT_DESCRIPTOR).fill('ignore'), words] });
    expect(readExitReport(words)?.fatal).toMatch(/out of memory/);
    closeSync(words);
  });

  it('logs warnings of host and handler only, and Lambda keeps the metrics of all functions', async () => {
    const { functions, queues, batch, lines } = deployed;
    expect(await functions.reaper.invoke({})).toMatchObject({ outcome: 'response' });
    const event = await batch(queues.deadLetterQueue, ['not JSON']);
    expect(await functions['dead-letter'].invoke(event)).toMatchObject({ outcome: 'response' });
    const logged = lines.flatMap((line) => (line.kind === 'log' ? [`${line.level} ${line.message}`] : []));
    expect(logged.filter((line) => !/^(WARN|ERROR) /.test(line))).toEqual([]);
    for (const message of ['from the handler', 'message rejected; its row says why'])
      expect(logged).toContain(`WARN ${message}`);
    const counted = lines.flatMap((line) => (line.kind === 'metrics' ? Object.keys(line.values) : []));
    expect(counted).toEqual(expect.arrayContaining(['JobsClaimed', 'SweepDuration', 'MessagesRejected']));
  });

  it.each<{
    title: string;
    limit: number;
    workers: number;
    reserved?: Record<string, number>;
    seen: object;
  }>([
    {
      title: 'starves the reaper of a new account if workers may take all of its 10 executions',
      ...{ limit: 10, workers: defaultSettings.workerConcurrency },
      seen: { reaper: 'throttled', job: 'running' },
    },
    {
      title: 'does not with the workerConcurrency that synth asks for',
      ...{ limit: 10, workers: 10 - LEAST_REAPER_CONCURRENCY },
      seen: { reaper: 'response', job: 'pending' },
    },
    {
      title: 'does not with executions reserved for the reaper',
      ...{ limit: 10 + LEAST_REAPER_CONCURRENCY, workers: defaultSettings.workerConcurrency },
      reserved: { reaper: LEAST_REAPER_CONCURRENCY },
      seen: { reaper: 'response', job: 'pending' },
    },
  ])('$title', async ({ title, limit, workers, reserved, seen }) => {
    const job = { jobId: title, type: 'look', payload: '{}', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 };
    await deployed.storeAt(-300_000).claim({ job, owner: 'gone' });
    const codeDir = mkdtempSync(join(folder, 'busy-'));
    writeFileSync(
      join(codeDir, 'index.mjs'),
      'export const handler = () => new Promise(() => setInterval(() => {}, 1000));',
    );
    const busy = new LambdaFunction({
      ...{ functionName: 'worker', codeDir, handler: 'index.handler', environment: {} },
      ...{ timeoutMs: 300_000, concurrency: workers },
    });
    const account = accountWith(limit, reserved);
    const running = Array.from({ length: limit }, () => account.invoke(busy, {}));
    const { outcome } = await account.invoke(deployed.functions.reaper, {});
    await busy.stop();
    await Promise.all(running);
    expect({ reaper: outcome, job: (await deployed.storeAt(0).read(title))?.status }).toEqual(seen);
  });
});
