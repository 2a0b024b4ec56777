import { describe, expect, it } from 'vitest';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import { MAX_INLINE_ROW_BYTES } from '../../lib/protocol/rows/data-pointer.ts';
import { rowBytes } from '../../lib/protocol/rows/row-bytes.ts';
import { newJob } from '../support/jobs.ts';
import { KIB, large, pointerAt, rowOf, textOf, watched } from './data-harness.ts';
import { claimedJob, contractSettings, entryOf, type Harness } from './harness.ts';

/** What is too large for a job's row lives beside it: written first, pointed to by a fenced write, never overwritten. */
export function describeDataRows(open: () => Harness): void {
  it('a payload goes beside the row where it would make that larger than 1,000 bytes, and nowhere else', async () => {
    const harness = open();
    const { store, names } = watched(harness);
    const [small, fat] = [harness.jobId(), harness.jobId()];
    await claimedJob(store, { job: { ...newJob(small), payload: textOf(400) }, owner: 'w/1' });
    expect(names()).toEqual(['claim']);
    expect(await rowOf(harness, small)).toMatchObject({ payload: textOf(400) });
    const claimed = await claimedJob(store, { job: large(fat), owner: 'w/1' });
    expect(names()).toEqual(['claim', 'putData', 'claim']);
    expect(claimed.payload).toBe(textOf(20 * KIB));
    expect(rowBytes(await rowOf(harness, fat))).toBeLessThanOrEqual(MAX_INLINE_ROW_BYTES);
    const { keys, bytes } = pointerAt(await rowOf(harness, fat), 'payload');
    expect([keys, bytes]).toEqual([[expect.stringMatching(new RegExp(`^${fat}#p`))], 20 * KIB]);
    expect(await harness.leaseOf(keys[0] ?? '')).toBeUndefined();
  });

  it('a payload of nearly 1 MiB takes several rows, and comes back character for character', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const payload = JSON.stringify(`x${'ü€😀'.repeat(115_000)}`);
    expect(Buffer.byteLength(payload)).toBeGreaterThan(1_000 * KIB);
    await claimedJob(harness.store, { job: { ...newJob(jobId), payload }, owner: 'w/1' });
    expect(pointerAt(await rowOf(harness, jobId), 'payload').parts).toBe(3);
    expect((await harness.store.read(jobId))?.payload).toBe(payload);
  });

  it.each([
    ['two large ones', 20 * KIB, 20 * KIB],
    ['a small one and a large one', 100, 20 * KIB],
    ['a large one and a small one', 20 * KIB, 100],
  ])('racing first messages never mix: %s', async (_, firstBytes, secondBytes) => {
    const harness = open();
    for (let round = 0; round < 4; round++) {
      const jobId = harness.jobId();
      const jobs = [large(jobId, 'a', firstBytes), large(jobId, 'b', secondBytes)];
      const claims = await Promise.all(jobs.map((job, i) => harness.store.claim({ job, owner: `w/${i}` })));
      const winner = claims.findIndex(({ outcome }) => outcome === 'claimed');
      expect(claims.filter(({ outcome }) => outcome === 'claimed')).toHaveLength(1);
      expect((await harness.store.read(jobId))?.payload).toBe(jobs[winner]?.payload);
    }
  });

  it('a message that comes again claims as by a hint, and writes no data', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const first = await claimedJob(harness.store, { job: large(jobId), owner: 'w/1' });
    const { store, names } = watched(harness);
    expect(await store.claim({ job: large(jobId), owner: 'w/2', redelivered: true })).toMatchObject({
      outcome: 'held',
    });
    await harness.store.release(claimOf(first), { errors: 0, releases: 1, dispatch: harness.dispatch() });
    expect(await store.claim({ job: large(jobId), owner: 'w/3', redelivered: true })).toMatchObject({
      outcome: 'claimed',
    });
    expect(names()).toEqual(['claim', 'claim']);
    const fresh = harness.jobId();
    expect(await store.claim({ job: large(fresh), owner: 'w/4', redelivered: true })).toMatchObject({
      outcome: 'claimed',
    });
    expect(names()).toEqual(['claim', 'claim', 'claim', 'putData', 'claim']);
  });

  describe('a crash, a lost reply or a zombie between data and pointer', () => {
    const dying = (harness: Harness, at: string, after: boolean) =>
      watched(harness, {
        apply: async (write) => {
          if (write.transition !== at) return harness.table.apply(write);
          if (after) await harness.table.apply(write);
          throw new Error('died here');
        },
      }).store;

    it.each([
      ['putData', false],
      ['putData', true],
      ['claim', false],
    ] as const)(
      'a worker that dies at %s (after it: %s) leaves no row, and the next message is the first',
      async (at, after) => {
        const harness = open();
        const jobId = harness.jobId();
        await expect(
          dying(harness, at, after).claim({ job: large(jobId, 'a'), owner: 'w/1' }),
        ).rejects.toThrow('died');
        expect(await harness.table.read(jobId)).toBeUndefined();
        await claimedJob(harness.store, { job: large(jobId, 'b'), owner: 'w/2' });
        expect((await harness.store.read(jobId))?.payload).toBe(textOf(20 * KIB, 'b'));
      },
    );

    const checkpointed = async (harness: Harness) => {
      const jobId = harness.jobId();
      const job = await claimedJob(harness.store, { job: newJob(jobId), owner: 'w/1' });
      const claim = claimOf(job);
      const save = (seq: number, letter: string, store = harness.store) =>
        store.checkpoint(claim, { seq, checkpoint: letter.repeat(3_000) });
      const saved = async () => ((await harness.store.read(jobId))?.checkpoint as string | undefined)?.[0];
      return { jobId, job, claim, save, saved };
    };

    it('checkpoints take eight slots in turn, and the one that is pointed to is never written', async () => {
      const harness = open();
      const { jobId, save, saved } = await checkpointed(harness);
      const places: string[] = [];
      for (const [i, letter] of [...'abcdefghij'].entries()) {
        expect(await save(i + 1, letter)).toEqual({ outcome: 'written' });
        expect(await saved()).toBe(letter);
        places.push(pointerAt(await rowOf(harness, jobId), 'checkpoint').in);
      }
      expect(new Set(places).size).toBe(8);
      expect(places.slice(8)).toEqual(places.slice(0, 2));
    });

    it('claims take the slots of the tenth claim before, but not the one that is still pointed to', async () => {
      const harness = open();
      const { jobId, claim, save, saved } = await checkpointed(harness);
      await save(1, 'a');
      await save(2, 'b');
      const first = pointerAt(await rowOf(harness, jobId), 'checkpoint').in;
      let held = claim;
      for (let attempt = 2; attempt <= 11; attempt++) {
        await harness.store.release(held, { errors: 0, releases: 1, dispatch: harness.dispatch() });
        held = claimOf(await claimedJob(harness.store, { job: { jobId }, owner: `w/${attempt}` }));
      }
      const stuck = watched(harness, {
        apply: async (write) => {
          if (write.transition === 'checkpoint') throw new Error('never sent');
          return harness.table.apply(write);
        },
      });
      const store = (seq: number, letter: string, on = harness.store) =>
        on.checkpoint(held, { seq, checkpoint: letter.repeat(3_000) });
      await expect(store(3, 'x', stuck.store)).rejects.toThrow('never sent');
      expect(await saved()).toBe('b');
      await store(3, 'c');
      expect(await saved()).toBe('c');
      const place = pointerAt(await rowOf(harness, jobId), 'checkpoint').in;
      expect(place.split('.').slice(0, 2)).toEqual(first.split('.').slice(0, 2));
      expect(place).not.toBe(first);
      // The first claim is a zombie by now, with numbers that are higher than the last one's.
      for (const seq of [10, 11, 12, 13, 14, 15, 16, 17]) {
        expect(await save(seq, 'z')).toMatchObject({ outcome: 'lost' });
        expect(await saved()).toBe('c');
      }
    });

    it.each(['putData', 'checkpoint'])(
      'a checkpoint that gets lost at %s leaves the last one whole',
      async (at) => {
        const harness = open();
        const { claim, save, saved } = await checkpointed(harness);
        let isBroken = false;
        const { store } = watched(harness, {
          apply: async (write) => {
            if (isBroken && write.transition === at) throw new Error('no reply');
            return harness.table.apply(write);
          },
        });
        await save(1, 'a', store);
        isBroken = true;
        for (const [seq, letter] of [
          [2, 'b'],
          [3, 'c'],
        ] as const) {
          await expect(save(seq, letter, store)).rejects.toThrow('no reply');
          expect(await saved()).toBe('a');
        }
        isBroken = false;
        expect(await store.checkpoint(claim, { seq: 4, checkpoint: 'd'.repeat(3_000) })).toMatchObject({
          outcome: 'written',
        });
        expect(await saved()).toBe('d');
      },
    );

    it('while it is unknown which checkpoint the row points to, none of them is overwritten', async () => {
      const harness = open();
      const { save, saved } = await checkpointed(harness);
      let lose = false;
      const { store } = watched(harness, {
        apply: async (write) => {
          const result = await harness.table.apply(write);
          if (lose && write.transition === 'checkpoint') throw new Error('no reply');
          return result;
        },
      });
      await save(1, 'a', store);
      lose = true;
      // Applied, though nobody hears of it.
      await expect(save(2, 'b', store)).rejects.toThrow('no reply');
      expect(await saved()).toBe('b');
      const stuck = watched(harness, {
        apply: async (write) => {
          if (write.transition === 'checkpoint') throw new Error('never sent');
          return harness.table.apply(write);
        },
      });
      await expect(save(3, 'c', stuck.store)).rejects.toThrow('never sent');
      expect(await saved()).toBe('b');
      lose = false;
      await save(4, 'd', store);
      expect(await saved()).toBe('d');
    });

    it('a zombie can replace nothing: neither checkpoint, nor result, nor error', async () => {
      const harness = open();
      const { jobId, claim, save, saved } = await checkpointed(harness);
      await save(1, 'a');
      await save(2, 'b');
      await harness.store.takeBack(jobId);
      await harness.clock.advance(60_000);
      const next = await claimedJob(harness.store, { job: { jobId }, owner: 'w/2' });
      for (const [seq, letter] of [
        [3, 'y'],
        [4, 'z'],
        [5, 'y'],
      ] as const) {
        expect(await save(seq, letter)).toMatchObject({ outcome: 'lost' });
        expect(await saved()).toBe('b');
      }
      await harness.store.checkpoint(claimOf(next), { seq: 6, checkpoint: 'n'.repeat(3_000) });
      expect(await save(7, 'z')).toMatchObject({ outcome: 'lost' });
      expect(await saved()).toBe('n');
      await harness.store.complete(claimOf(next), 'r'.repeat(3_000));
      expect(await harness.store.complete(claim, 's'.repeat(3_000))).toMatchObject({ outcome: 'lost' });
      expect(await harness.store.fail(claim, { errors: 1, lastError: 'e'.repeat(900) })).toMatchObject({
        outcome: 'lost',
      });
      expect(await harness.store.read(jobId)).toMatchObject({ status: 'done', result: 'r'.repeat(3_000) });
    });
  });

  describe('a row stays small', () => {
    const ended = async (harness: Harness, job: RunningJob, lastError: string, errors: number) =>
      harness.store.retry(claimOf(job), { errors, lastError, dispatch: harness.dispatch() });

    it('through long errors and many claims, and keeps the last ten', async () => {
      const harness = open();
      const jobId = harness.jobId();
      const error = `Error: ${'no '.repeat(30)}\n${'    at a line\n'.repeat(200)}`;
      for (let attempt = 1; attempt <= 12; attempt++) {
        const job = await claimedJob(harness.store, {
          job: { ...newJob(jobId), maxAttempts: 25, payload: textOf(300) },
          owner: `worker-0123456789ab/${attempt}`,
        });
        await ended(harness, job, error, attempt);
      }
      expect(rowBytes(await rowOf(harness, jobId))).toBeLessThanOrEqual(4 * KIB);
      const job = await harness.store.read(jobId);
      expect(job?.claims.map(({ attempt }) => attempt)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
      expect(job?.claims.every(({ cause }) => cause?.startsWith('Error: no no'))).toBe(true);
      expect(job?.lastError?.length).toBeGreaterThan(2_000);
    });
  });

  it('the first new checkpoint of a claim turns its job’s lapses into releases, once', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const lose = async (owner: string, lapses: number, checkpoint?: string) => {
      const job = await claimedJob(harness.store, { job: newJob(jobId), owner });
      const outcome =
        checkpoint === undefined
          ? undefined
          : await harness.store.checkpoint(claimOf(job), { seq: job.checkpointSeq + 1, checkpoint });
      const entry = entryOf(await rowOf(harness, jobId));
      await harness.store.reap(entry, {
        ...{ kind: 'reclaim', lapses },
        ...{ lastError: 'worker lease expired', dispatch: harness.dispatch() },
      });
      return outcome;
    };
    expect(await lose('w/1', 1, 'page 1')).toEqual({ outcome: 'written' });
    expect(await lose('w/2', 2, 'page 1')).toEqual({ outcome: 'written' });
    expect(await harness.store.read(jobId)).toMatchObject({ lapses: 2, releases: 0 });
    expect(await lose('w/3', 1, 'page 2')).toEqual({
      outcome: 'written',
      counts: { crashes: 0, lapses: 0, releases: 2 },
    });
    expect(await harness.store.read(jobId)).toMatchObject({ lapses: 1, releases: 2 });
    const job = await claimedJob(harness.store, { job: { jobId }, owner: 'w/4' });
    const claim = claimOf(job);
    expect(await harness.store.checkpoint(claim, { seq: 9, progress: 0.5 })).toEqual({ outcome: 'written' });
    expect(await harness.store.checkpoint(claim, { seq: 10, checkpoint: 'page 3' })).toMatchObject({
      counts: { releases: 3 },
    });
    expect(await harness.store.checkpoint(claim, { seq: 11, checkpoint: 'page 4' })).toEqual({
      outcome: 'written',
    });
    expect(await harness.store.read(jobId)).toMatchObject({ lapses: 0, releases: 3, checkpoint: 'page 4' });
  });

  it('lapses that were forgiven stay so, though the index still shows them as the lease lapses', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const lapse = async (entry: ReturnType<typeof entryOf>) => {
      await harness.clock.advance(60_000);
      const action = decideReap(entry, {
        now: harness.clock.now(),
        random: 0,
        settings: contractSettings,
      });
      if (action.kind === 'leave') throw new Error('the lease should have lapsed');
      return harness.store.reap(entry, action);
    };
    await claimedJob(harness.store, { job: newJob(jobId), owner: 'w/1' });
    await lapse(entryOf(await rowOf(harness, jobId)));
    const job = await claimedJob(harness.store, { job: { jobId }, owner: 'w/2' });
    const shown = entryOf(await rowOf(harness, jobId));
    await harness.store.checkpoint(claimOf(job), { seq: job.checkpointSeq + 1, checkpoint: 'further' });
    expect(await lapse(shown)).toEqual({ outcome: 'moved' });
    await lapse(entryOf(await rowOf(harness, jobId)));
    expect(await harness.store.read(jobId)).toMatchObject({ status: 'pending', lapses: 1, releases: 1 });
  });

  it('limits that a row lacks are set by its first claim, those of the producer stay', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const typeLimits = { leaseMs: 70_000, maxAttempts: 9, maxCrashes: 4 };
    const unset = { leaseMs: undefined, maxAttempts: 2, maxCrashes: undefined };
    await harness.store.schedule(newJob(jobId, unset), harness.dispatch());
    const shown = entryOf(await rowOf(harness, jobId));
    expect(shown).toMatchObject({ status: 'pending', maxAttempts: 2 });
    expect(shown).not.toHaveProperty('leaseMs');
    await harness.store.reap(shown, { kind: 'redispatch', dispatch: harness.dispatch() });
    const { store, names } = watched(harness);
    const job = await claimedJob(store, { job: { jobId }, owner: 'w/1', typeLimits });
    expect(job).toMatchObject({ leaseMs: 70_000, maxAttempts: 2, maxCrashes: 4, attempt: 1 });
    expect(job.leaseUntil).toBe(harness.clock.now() + 70_000);
    await store.release(claimOf(job), { errors: 0, releases: 1, dispatch: harness.dispatch() });
    const other = { ...typeLimits, leaseMs: 90_000 };
    const again = await claimedJob(store, { job: { jobId }, owner: 'w/2', typeLimits: other });
    expect(again).toMatchObject({ leaseMs: 70_000, attempt: 2 });
    expect(again.leaseUntil).toBe(harness.clock.now() + 70_000);
    expect(names().filter((name) => name === 'claim')).toHaveLength(2);
  });

  it('a rejected message is found by the id that it named, and a second one does not displace it', async () => {
    const harness = open();
    const [jobId, first, second] = [harness.jobId(), harness.jobId(), harness.jobId()];
    const bad = (messageId: string) => ({
      messageId,
      jobId,
      reason: 'no',
      text: '{',
      bytes: 1,
      sha256: 'ab',
    });
    expect(await harness.store.reject(bad(first))).toEqual({ outcome: 'written', row: `bad:${jobId}` });
    expect(await harness.store.reject(bad(first))).toEqual({ outcome: 'written', row: `bad:${jobId}` });
    expect(await harness.store.reject(bad(second))).toEqual({ outcome: 'written', row: `bad:${second}` });
    expect(await harness.store.read(jobId)).toMatchObject({ jobId: `bad:${jobId}`, status: 'failed' });
    expect(await harness.isListedAsFailure(`bad:${jobId}`)).toBe(true);
    await harness.claimed(jobId);
    expect(await harness.store.read(jobId)).toMatchObject({ jobId, status: 'running' });
  });
}
