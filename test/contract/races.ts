import { expect, it } from 'vitest';
import { claimOf } from '../../lib/protocol/job.ts';
import { newJob } from '../support/jobs.ts';
import { claimedJob, type Harness } from './harness.ts';
import type { Pressure } from './job-store.ts';

/** The deep race is 12,800 requests: some fifteen seconds on two idle cores, more on busy ones. */
const PATIENCE_MS = 300_000;

/** Everybody wants the same job. */
export function describeRaces(open: () => Harness, { rounds, claimants }: Pressure): void {
  it(
    `${claimants} racing claimants have exactly one winner in each of ${rounds} rounds, and all others see it`,
    async () => {
      const harness = open();
      const jobId = harness.jobId();
      const winners: string[] = [];
      for (let round = 1; round <= rounds; round++) {
        const outcomes = await Promise.all(
          Array.from({ length: claimants }, (_, n) =>
            harness.store.claim({ job: newJob(jobId), owner: `w${n}/${round}` }),
          ),
        );
        const won = outcomes.flatMap((each) => (each.outcome === 'claimed' ? [each.job] : []));
        const [winner] = won;
        if (won.length !== 1 || winner === undefined)
          throw new Error(`round ${round} had ${won.length} winners`);
        const seen = outcomes.filter(
          (each) => each.outcome === 'held' && each.job.leaseOwner === winner.leaseOwner,
        );
        expect(seen).toHaveLength(claimants - 1);
        expect(winner.attempt).toBe(round);
        winners.push(winner.leaseOwner);
        await harness.store.release(claimOf(winner), {
          errors: 0,
          releases: round,
          dispatch: harness.dispatch(),
        });
      }
      expect(winners).toHaveLength(rounds);
      expect((await harness.store.read(jobId))?.attempt).toBe(rounds);
    },
    PATIENCE_MS,
  );

  it('of a completion, a retry, a reclaim and an operator at the same moment exactly one stands', async () => {
    const harness = open();
    for (let round = 0; round < 10; round++) {
      const job = await claimedJob(harness.store, { job: newJob(harness.jobId()), owner: 'w/1' });
      const entry = await harness.leaseOf(job.jobId);
      if (entry === undefined) throw new Error('a running job must be in the index');
      const { store } = harness;
      const outcomes = await Promise.all([
        store.complete(claimOf(job)),
        store.retry(claimOf(job), { errors: 1, lastError: 'boom', dispatch: harness.dispatch() }),
        store.reap(entry, {
          kind: 'reclaim',
          lapses: 1,
          lastError: 'worker lease expired',
          dispatch: harness.dispatch(),
        }),
        store.takeBack(job.jobId),
      ]);
      expect(outcomes.filter(({ outcome }) => outcome === 'written')).toHaveLength(1);
      const ended = await store.read(job.jobId);
      expect(ended).toMatchObject({ attempt: 1 });
      expect((ended?.errors ?? 0) + (ended?.lapses ?? 0) + (ended?.releases ?? 0)).toBe(
        ended?.status === 'done' ? 0 : 1,
      );
    }
  });
}
