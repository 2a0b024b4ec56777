import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job } from '../../lib/protocol/job.ts';
import { TOKEN_HEADER, type WorkerSummary } from '../../lib/tools/console/page-messages.ts';
import { localEnvironment } from '../../lib/tools/dev/local-environment.ts';
import { processOf, workerOf } from '../../lib/tools/inspect/worker-name.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { isDeep } from '../support/depth.ts';
import { sqsClient } from '../support/engines.ts';
import { type LocalConsole, startLocalConsole } from '../support/local-console.ts';
import { lapsesOf } from '../support/worker-stack.ts';

const pools = {
  sums: { types: ['count-primes'], compute: 'lambda' },
  heavy: { types: ['slow-steps'], compute: 'fargate' },
} as const;

describe('a local stack with a pool of functions and one of containers', () => {
  let local: LocalConsole;
  /** The pool of each process that was ever seen. */
  const poolOfProcess = new Map<string, string>();
  beforeAll(async () => {
    local = await startLocalConsole({ pools });
    local.stack.listen((event) => {
      if (event.kind !== 'sandbox') return;
      const { pid, pool = 'default' } = event.sandbox;
      poolOfProcess.set(`process ${pid}`, pool);
    });
    for (const { pid, pool = 'default' } of local.stack.workers()) poolOfProcess.set(`process ${pid}`, pool);
  });
  afterAll(() => local.stop());

  const queueOf = (pool: 'default' | keyof typeof pools) =>
    pool === 'default' ? local.stack.queueUrl : (local.stack.routing?.pools[pool]?.queueUrl ?? '');
  const send = async (
    pool: 'default' | keyof typeof pools,
    jobId: string,
    type: string,
    payload: unknown,
  ) => {
    const client = sqsClient(
      local.stack.endpoints.sqs,
      localEnvironment.clientConfig(local.stack.environment),
    );
    const MessageBody = jobBody(type, payload, { jobId });
    await client.send(new SendMessageCommand({ QueueUrl: queueOf(pool), MessageBody }));
    client.destroy();
  };
  const until = async (jobId: string, isWanted: (job: Job) => boolean): Promise<Job> => {
    for (;;) {
      const job = await local.store.read(jobId);
      if (job !== undefined && isWanted(job)) return job;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const isDone = ({ status }: Job) => status === 'done';
  const ranIn = ({ leaseOwner = '' }: Job) => poolOfProcess.get(processOf(workerOf(leaseOwner)) ?? '');
  const steps = (count: number, stepMs: number) => ({ steps: count, stepMs });

  it('runs each type in its own compute', async () => {
    await send('sums', 'primes', 'count-primes', { below: 1000 });
    await send('heavy', 'short', 'slow-steps', steps(1, 10));
    expect(ranIn(await until('primes', isDone))).toBe('sums');
    expect(ranIn(await until('short', isDone))).toBe('heavy');
  });

  it('forwards what a plain SendMessage put in the wrong queue', async () => {
    await send('default', 'strayed', 'slow-steps', steps(1, 10));
    await send('heavy', 'lost', 'count-primes', { below: 1000 });
    expect(ranIn(await until('strayed', isDone))).toBe('heavy');
    expect(ranIn(await until('lost', isDone))).toBe('sums');
  });

  it.runIf(isDeep)(
    'recovers the job of a container that is killed in the console, which shows its pool',
    async () => {
      const shown = async (isWanted: (worker: WorkerSummary) => boolean) => {
        for (;;) {
          const found = (await shownWorkers(local)).find(isWanted);
          if (found !== undefined) return found;
        }
      };
      await send('heavy', 'killed', 'slow-steps', steps(8, 300));
      await until('killed', ({ checkpointSeq }) => checkpointSeq >= 2);
      const { pid, pool, state } = await shown(({ jobs }) => jobs.includes('killed'));
      expect({ pool, state }).toEqual({ pool: 'heavy', state: 'busy' });
      const reply = await fetch(`http://127.0.0.1:${local.console.port}/api/workers/${pid}/kill`, {
        method: 'POST',
        headers: { [TOKEN_HEADER]: local.console.token },
      });
      expect(reply.status).toBe(200);
      const gone = await shown((worker) => worker.pid === pid && worker.state === 'gone');
      expect(gone).toMatchObject({ pool: 'heavy', ending: 'signal: SIGKILL' });
      const job = await until('killed', isDone);
      expect(lapsesOf(job)).toBeGreaterThanOrEqual(1);
      expect(ranIn(job)).toBe('heavy');
      expect((job as { result?: { resumedAt: number } }).result?.resumedAt).toBeGreaterThanOrEqual(2);
    },
  );

  it.runIf(isDeep)('replaces the container when the jobs module changes; the old one drains', async () => {
    const endings: (string | undefined)[] = [];
    const unlisten = local.stack.listen(
      (event) =>
        event.kind === 'sandbox' && event.sandbox.state === 'gone' && endings.push(event.sandbox.ending),
    );
    const live = () => local.stack.workers().filter(({ pool }) => pool === 'heavy');
    await send('heavy', 'draining', 'slow-steps', steps(4, 300));
    await until('draining', ({ checkpointSeq }) => checkpointSeq >= 1);
    const [old] = live();
    await local.stack.reload();
    expect(await until('draining', isDone)).toMatchObject({ attempt: 1 });
    await expect.poll(() => live().map(({ pid }) => pid)).not.toContain(old?.pid);
    unlisten();
    expect(endings).toContain('exit status 0');
    expect(live()).toHaveLength(1);
  });
});

/** As the page's stream first tells them. */
async function shownWorkers({ console }: LocalConsole): Promise<readonly WorkerSummary[]> {
  const reply = await fetch(`http://127.0.0.1:${console.port}/api/stream?token=${console.token}`);
  let text = '';
  for await (const chunk of (reply.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const [, data] = /event: workers\r?\ndata: (.*)\r?\n/.exec(text) ?? [];
    // Leaving the loop closes the stream.
    if (data !== undefined) return JSON.parse(data) as readonly WorkerSummary[];
  }
  throw new Error(`the stream ended without workers: ${text}`);
}
