import { expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { claimOne } from '../../support/claims.ts';

it('a checkpoint that was stored without a reply has forgiven what came before, also for a death that follows', async () => {
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
  void engine.run(claimed, { stopping: new AbortController().signal, releaseWithinMs: 1000 });
  await stack.clock.advance(0);
  for (const expected of [
    { attempt: 2, crashes: 0, releases: 1, checkpoint: 'further' },
    { attempt: 3, crashes: 1, releases: 1, status: 'running' },
  ]) {
    worker.killCell();
    await stack.clock.advance(0);
    expect(await stack.store.read('a')).toMatchObject(expected);
  }
});
