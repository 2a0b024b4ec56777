import { describe, expect, it } from 'vitest';
import { claimOf } from '../../../lib/protocol/job.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { claimedJob } from '../../contract/harness.ts';
import { newJob, settings } from '../../support/jobs.ts';
import { memoryStore } from '../../support/memory-store.ts';

const small = { ...settings, maxCheckpointBytes: 256, maxResultBytes: 256 };
const dispatch = { notBefore: 0, leaseUntil: 60_000, dispatches: 1 };
const { memory, store } = memoryStore({ settings: small });
const claimed = async (jobId: string) =>
  claimOf(await claimedJob(store, { job: newJob(jobId), owner: 'w/1' }));

describe('what a row may keep', () => {
  const fits = 'x'.repeat(254);
  const tooLong = 'x'.repeat(255);

  it('is refused before anything is written', async () => {
    const claim = await claimed('limits');
    const before = await memory.read('limits');
    await expect(store.complete(claim, tooLong)).rejects.toThrow(
      'the result has 257 bytes; at most 256 are allowed',
    );
    expect(await store.completeMany([{ claim, result: tooLong }])).toMatchObject([
      { outcome: 'failed', error: { code: 'TOO_LARGE' } },
    ]);
    await expect(store.checkpoint(claim, { seq: 1, checkpoint: tooLong })).rejects.toThrow(
      'the checkpoint has 257 bytes',
    );
    await expect(store.checkpoint(claim, { seq: 1, progress: tooLong })).rejects.toThrow(
      'the progress has 257 bytes',
    );
    expect(await memory.read('limits')).toEqual(before);
    await store.checkpoint(claim, { seq: 1, checkpoint: fits, progress: fits });
    expect(await store.complete(claim, fits)).toEqual({ outcome: 'written' });
  });

  it.each(['retry', 'fail', 'release', 'reject'] as const)(
    'is cut where it is an error’s text: %s',
    async (verb) => {
      const text = 'ü'.repeat(3000);
      const claim = await claimed(`cut-${verb}`);
      const verbs = {
        retry: () => store.retry(claim, { errors: 1, lastError: text, dispatch }),
        fail: () => store.fail(claim, { errors: 1, lastError: text }),
        release: () => store.release(claim, { errors: 1, releases: 0, lastError: text, dispatch }),
        reject: () => store.reject({ messageId: 'm', reason: text, text: '', bytes: 0, sha256: '' }),
      };
      await verbs[verb]();
      const job = await store.read(verb === 'reject' ? 'bad:m' : claim.jobId);
      expect(Buffer.byteLength(String(job?.lastError))).toBeLessThanOrEqual(4096);
      expect(job?.lastError).toMatch(/^ü+… \(cut\)$/);
    },
  );
});

describe('a job that moves while an operator looks at it', () => {
  /** Moves the job on just before each of the first `times` writes. */
  const moving = (jobId: string, times: number) =>
    memoryStore({
      on: {
        read: memory.read,
        apply: async (write: RowWrite) => {
          if (times-- > 0) {
            const row = await memory.read(jobId);
            memory.put({ ...row, jobId, attempt: Number(row?.attempt) + 1 });
          }
          return memory.apply(write);
        },
      },
    }).store;

  it('is looked at again, up to three times', async () => {
    await claimed('moves-twice');
    expect(await moving('moves-twice', 2).cancel('moves-twice')).toMatchObject({
      outcome: 'written',
      job: { attempt: 3, cancelRequested: true },
    });
    await claimed('moves-on');
    expect(await moving('moves-on', 3).cancel('moves-on')).toMatchObject({ outcome: 'refused' });
  });
});
