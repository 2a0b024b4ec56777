import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineJob, NonRetryableError } from '../../lib/index.ts';
import { testJob } from '../../lib/testing/index.ts';

/** A stand-in for the mail service. */
const outbox: string[] = [];

const sendNewsletter = defineJob({
  type: 'send-newsletter',
  payload: z.object({ readers: z.array(z.string()) }),
  checkpoint: z.object({ sent: z.int() }),
  async run({ payload, checkpoint }, { signal, save }) {
    if (payload.readers.length === 0) throw new NonRetryableError('the newsletter has no readers');
    for (let sent = checkpoint?.sent ?? 0; sent < payload.readers.length; sent++) {
      signal.throwIfAborted();
      outbox.push(payload.readers[sent] ?? '');
      await save({ sent: sent + 1 });
    }
    return { sent: payload.readers.length };
  },
});

describe('send-newsletter', () => {
  it('writes to every reader once, even if its worker dies', async () => {
    const job = testJob(sendNewsletter, { readers: ['ada', 'ben', 'cid', 'dot'] });

    expect(await job.run({ fault: 'hostDies', after: 2 })).toBe('crashed');
    expect(job.checkpoints).toEqual([{ sent: 1 }, { sent: 2 }]);

    const finished = await job.finish();
    expect(finished).toMatchObject({ status: 'done', result: { sent: 4 }, attempt: 2 });
    expect(outbox).toEqual(['ada', 'ben', 'cid', 'dot']);
  });

  it('continues in the next invocation when time runs out, uncharged', async () => {
    const job = testJob(sendNewsletter, { readers: ['ada', 'ben', 'cid'] });

    expect(await job.run({ fault: 'deadline', after: 1 })).toBe('released');
    expect(await job.finish()).toMatchObject({ attempt: 2, errors: 0, crashes: 0 });
  });

  it('is not retried without readers', async () => {
    const finished = await testJob(sendNewsletter, { readers: [] }).finish();

    expect(finished).toMatchObject({ status: 'failed', attempt: 1 });
    expect(finished.lastError).toContain('the newsletter has no readers');
  });
});
