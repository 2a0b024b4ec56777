import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expect, it } from 'vitest';
import { planDispatch } from '../../../lib/protocol/decisions/dispatch.ts';
import type { ReceivedMessage } from '../../../lib/protocol/ports.ts';
import { createTestStack } from '../../../lib/testing/index.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { SCHEMA_PATIENCE_MS } from '../../../lib/worker/cells/cell/check-schema.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';

/** Asks a service that never answers. */
const silent: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'test', validate: () => new Promise(() => {}) },
};
const registry = createRegistry([defineJob({ type: 'job', payload: silent, run: () => 'never' })]);

it('a message whose schema gives no answer becomes a job, which is charged like any other', async () => {
  const stack = createTestStack();
  const engine = createEngine(stack.worker(registry));
  await stack.queue.sendJobs([{ body: jobBody('job', {}, { jobId: 'a' }) }]);
  const [message] = await stack.queue.receive({ max: 1, waitSeconds: 0 });
  const opening = engine.open(message as ReceivedMessage);
  await stack.clock.advance(SCHEMA_PATIENCE_MS);
  const opened = await opening;
  if (opened.kind !== 'claimable') throw new Error(opened.kind);
  const [claimed] = await engine.claim([opened]);
  if (claimed?.kind !== 'claimed') throw new Error(claimed?.kind);
  const run = engine.run(claimed, { stopping: new AbortController().signal, releaseWithinMs: 5000 });
  await stack.clock.advance(SCHEMA_PATIENCE_MS);
  expect(await run).toBe('retried');
  expect(await stack.store.read('a')).toMatchObject({ status: 'pending', errors: 1 });
});

it('a claimed job whose schema gives no answer has failed once, and frees its slot', async () => {
  const stack = createTestStack();
  const { settings, clock } = stack.worker(registry);
  const job = { jobId: 'a', type: 'job', payload: '{}', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 };
  await stack.store.schedule(job, planDispatch(clock.now(), clock.now(), settings));
  const engine = createEngine(stack.worker(registry));
  const [claimed] = await engine.claim([
    { kind: 'claimable', message: {} as ReceivedMessage, job: { jobId: 'a' } },
  ]);
  if (claimed?.kind !== 'claimed') throw new Error(claimed?.kind);
  const run = engine.run(claimed, { stopping: new AbortController().signal, releaseWithinMs: 5000 });
  await stack.clock.advance(SCHEMA_PATIENCE_MS);
  expect(await run).toBe('retried');
  expect(await stack.store.read('a')).toMatchObject({ status: 'pending', errors: 1, crashes: 0 });
});
