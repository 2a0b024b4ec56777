import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { ShuttingDown } from '../../../lib/worker/abort-reasons.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { claimOne } from '../../support/claims.ts';

const claims = ({ errors = 0, crashes = 0, releases = 0 }) => 1 + errors + crashes + releases;

/** A job that has crashed once, whose next attempt stores a new checkpoint and never learns that it did. */
async function afterUnansweredProgress() {
  const stack = createTestStack();
  const definition = defineJob({
    type: 'job',
    payload: z.unknown(),
    async run({ attempt }, { save, signal }) {
      if (attempt === 2) await save('further').catch(() => {});
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const worker = stack.worker(createRegistry([definition]));
  const engine = createEngine({
    ...worker,
    store: {
      ...worker.store,
      async checkpoint(...kept) {
        await worker.store.checkpoint(...kept);
        throw new Error('no answer');
      },
    },
  });
  const claimed = await claimOne(stack, engine, jobBody('job', {}, { jobId: 'a' }));
  const stopping = new AbortController();
  const end = engine.run(claimed, { stopping: stopping.signal, releaseWithinMs: 1000 });
  const settle = () => stack.clock.advance(0);
  await settle();
  worker.killCell();
  await settle();
  const read = () => stack.store.read('a');
  expect(await read()).toMatchObject({ attempt: 2, crashes: 0, releases: 1, checkpoint: 'further' });
  return { stack, worker, stopping, end, settle, read };
}

describe('a checkpoint that was stored without a reply', () => {
  it('has forgiven what came before, also for a death that follows', async () => {
    const { worker, settle, read } = await afterUnansweredProgress();
    worker.killCell();
    await settle();
    expect(await read()).toMatchObject({ status: 'running', attempt: 3, crashes: 1, releases: 1 });
  });

  it('leaves counts that add up to the attempts when its job is released', async () => {
    const { stopping, end, read } = await afterUnansweredProgress();
    stopping.abort(new ShuttingDown('shutdown'));
    expect(await end).toBe('released');
    const job = await read();
    expect(job).toMatchObject({ status: 'pending', attempt: 2, crashes: 0, releases: 2 });
    expect(claims(job ?? {})).toBe(3);
  });
});
