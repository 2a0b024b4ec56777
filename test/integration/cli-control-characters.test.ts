import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimOf } from '../../lib/protocol/job.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { anyEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';

/** Sets the title, clears the screen, hides what was before, and the same by C1 characters. */
const EVIL = '\u001b]0;owned\u0007\u001b[2J\r\u009b31m\u2028\u007f';
/** What SQS lets pass of it. */
const IN_A_MESSAGE = '\u009d0;owned\u009c\u009b2J\r\u2028\u007f';
const isRaw = (text: string) => /(?![\n\t])[\p{Cc}\u2028\u2029]/u.test(text);

let system: CliSystem;
beforeAll(async () => {
  system = await createCliSystem(anyEngine());
  const { store, sqs, deadLetterUrl } = system;
  const payload = JSON.stringify({ text: EVIL });
  for (const jobId of ['failed', 'running', 'pending']) {
    const claimed = await store.claim({
      job: newJob(jobId, { type: 'evil', payload }),
      owner: `worker-${EVIL}/1`,
    });
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
    const claim = claimOf(claimed.job);
    await store.checkpoint(claim, { seq: 1, checkpoint: { at: EVIL }, progress: { at: EVIL } });
    const lastError = `Error: ${EVIL}`;
    if (jobId === 'failed') await store.fail(claim, { errors: 1, lastError });
    const now = Date.now();
    const dispatch = { notBefore: now, leaseUntil: now + 60_000, dispatches: 1 };
    if (jobId === 'pending') await store.retry(claim, { errors: 1, lastError, dispatch });
  }
  // Rows that somebody edited.
  await system.put({ jobId: `bad-${EVIL}`, status: `${EVIL}`, type: EVIL });
  await system.put({ jobId: 'lost', status: 'running', type: EVIL, leaseShard: EVIL, leaseUntil: 1 });
  for (const body of [IN_A_MESSAGE, JSON.stringify({ type: 'evil', jobId: 'dead', payload: IN_A_MESSAGE })])
    await sqs.send(new SendMessageCommand({ QueueUrl: deadLetterUrl, MessageBody: body }));
});
afterAll(() => system?.close());

it.each([
  ['ls'],
  ['ls', '--status', 'failed'],
  ['ls', '--scan'],
  ['show', 'failed'],
  ['show', 'running', '--json'],
  ['explain', 'failed'],
  ['explain', 'running'],
  ['explain', 'pending'],
  ['show', EVIL],
  ['workers'],
  ['stats'],
  ['dlq', 'ls'],
  ['dlq', 'ls', '--json'],
  ['dlq', 'redrive', '--dry-run'],
  ['redrive', '--dry-run'],
  ['redrive', '--type', EVIL, '--dry-run'],
  ['doctor', '--scan'],
  ['doctor', '--repair', '--dry-run', '--scan', '--json'],
  ['cancel', EVIL],
  ['send', EVIL, '{}'],
])('nothing raw reaches the terminal from `%s %s`', async (...args) => {
  const { stdout, stderr } = await system.run(args.filter((arg) => arg !== undefined));
  expect(isRaw(stdout + stderr), JSON.stringify(stdout + stderr)).toBe(false);
  expect(stdout + stderr).not.toBe('');
});
