import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../lib/protocol/job.ts';
import type { HeartbeatOutcome } from '../../../lib/protocol/ports.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import type { ClockCheck } from '../../../lib/worker/intake/clock-check.ts';
import { trustTheClock } from '../../../lib/worker/intake/clock-check.ts';
import type { HeartReport, HeldLease } from '../../../lib/worker/run/heart-loop.ts';
import { createHeartLoop } from '../../../lib/worker/run/heart-loop.ts';
import { createLeaseClock, readClock } from '../../../lib/worker/run/lease-clock.ts';

const claim: Claim = { jobId: 'a', owner: 'w/1', attempt: 1, startedAt: 0 };
const LEASE_MS = 20_000;
const HEARTBEAT_MS = 5_000;

/** A heart with chance at its extreme, and a store that answers as told. */
function stage(
  options: {
    random?: number;
    answer?: (claim?: Claim) => Promise<HeartbeatOutcome>;
    clockCheck?: ClockCheck;
  } = {},
) {
  const clock = createFakeClock();
  const random = createFakeRandom(options.random ?? 0);
  const beats: { at: number; leaseUntil: number }[] = [];
  const batches: string[][] = [];
  const reports: HeartReport[] = [];
  const failures: unknown[] = [];
  const answer = options.answer ?? (async () => ({ outcome: 'extended', cancelRequested: false }) as const);
  const began = clock.now();
  const heart = createHeartLoop({
    clock,
    random,
    store: {
      heartbeat: (_claim, leaseUntil) => {
        beats.push({ at: clock.now() - began, leaseUntil: leaseUntil - began });
        return answer();
      },
      heartbeatMany: (given) => {
        for (const { leaseUntil } of given)
          beats.push({ at: clock.now() - began, leaseUntil: leaseUntil - began });
        batches.push(given.map(({ claim: { jobId } }) => jobId));
        return Promise.all(given.map(({ claim: one }) => answer(one)));
      },
    },
    clockCheck: options.clockCheck ?? trustTheClock,
    onFailure: (_claim, error) => void failures.push(error),
  });
  const lease = createLeaseClock(clock, readClock(clock), LEASE_MS);
  const start = (over: Partial<HeldLease> = {}) =>
    heart.start({
      claim,
      lease,
      leaseMs: LEASE_MS,
      intervalMs: HEARTBEAT_MS,
      onReport: (report) => void reports.push(report),
      ...over,
    });
  return { clock, heart, lease, beats, batches, reports, failures, start };
}

describe('the rhythm of the heart', () => {
  it('writes no lease by a clock that cannot be trusted, and beats again once it can', async () => {
    let isSound = false;
    const { clock, start, beats, failures } = stage({ clockCheck: { isSound: async () => isSound } });
    start();
    await clock.advance(HEARTBEAT_MS);
    expect(beats).toEqual([]);
    expect(String(failures[0])).toMatch(/too far from DynamoDB/);
    isSound = true;
    await clock.advance(HEARTBEAT_MS);
    const [beat] = beats;
    expect(beat?.leaseUntil).toBe((beat?.at ?? 0) + LEASE_MS);
  });

  it('beats at its interval, and extends the lease by its length', async () => {
    const { clock, start, beats } = stage();
    start();
    await clock.advance(HEARTBEAT_MS - 1);
    expect(beats).toEqual([]);
    await clock.advance(1);
    expect(beats).toEqual([{ at: HEARTBEAT_MS, leaseUntil: HEARTBEAT_MS + LEASE_MS }]);
    await clock.advance(2 * HEARTBEAT_MS);
    expect(beats).toHaveLength(3);
  });

  it('beats up to a fifth earlier, so that jobs claimed together do not beat together', async () => {
    const { clock, start, beats } = stage({ random: 0.999999 });
    start();
    await clock.advance(0.8 * HEARTBEAT_MS + 1);
    expect(beats).toHaveLength(1);
  });

  it('repeats an unanswered beat sooner, and continues', async () => {
    let answers = 0;
    const { clock, start, beats, failures, lease } = stage({
      answer: async () => {
        if (++answers === 1) throw new Error('no answer');
        return { outcome: 'extended', cancelRequested: false };
      },
    });
    start();
    await clock.advance(HEARTBEAT_MS + HEARTBEAT_MS / 4);
    expect(beats).toHaveLength(2);
    expect(failures).toHaveLength(1);
    expect(lease.isHeld()).toBe(true);
  });

  it('repeats a beat while another is still pending, because the network may have lost it', async () => {
    const { promise: swallowed, resolve } = Promise.withResolvers<HeartbeatOutcome>();
    let answers = 0;
    const { clock, start, beats, lease } = stage({
      answer: async () => (++answers === 1 ? swallowed : { outcome: 'extended', cancelRequested: false }),
    });
    start();
    await clock.advance(HEARTBEAT_MS + HEARTBEAT_MS / 4 - 1);
    expect(beats).toHaveLength(1);
    await clock.advance(1);
    expect(beats.map(({ at }) => at)).toEqual([HEARTBEAT_MS, 1.25 * HEARTBEAT_MS]);
    expect(lease.sinceRenewalMs()).toBe(0);
    // The first arrives after all: the lease runs from the later one.
    resolve({ outcome: 'extended', cancelRequested: false });
    await clock.advance(1);
    expect(lease.sinceRenewalMs()).toBe(1);
    // The first was no reason to beat sooner.
    await clock.advance(HEARTBEAT_MS - 2);
    expect(beats).toHaveLength(2);
    await clock.advance(1);
    expect(beats).toHaveLength(3);
  });
});

describe('the end of the heart', () => {
  it('gives the lease up when a beat is refused', async () => {
    const { clock, start, beats, reports, lease } = stage({ answer: async () => ({ outcome: 'lost' }) });
    start();
    await clock.advance(100_000);
    expect(beats).toHaveLength(1);
    expect(reports).toEqual(['refused']);
    expect(lease.isHeld()).toBe(false);
  });

  it('sends no beat past the end of the lease', async () => {
    const { clock, start, beats } = stage({ answer: () => Promise.reject(new Error('no answer')) });
    start();
    await clock.advance(LEASE_MS * 3);
    expect(beats.length).toBeGreaterThan(3);
    expect(beats.at(-1)?.at).toBeLessThan(LEASE_MS);
  });

  it('ignores the answer to a beat of a claim that ended meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<HeartbeatOutcome>();
    const { clock, heart, start, reports, lease } = stage({ answer: () => promise });
    start();
    await clock.advance(HEARTBEAT_MS);
    lease.end();
    heart.stop(claim);
    resolve({ outcome: 'lost' });
    await clock.advance(LEASE_MS);
    expect(reports).toEqual([]);
  });
});

describe('the lease clock', () => {
  const leaseOf = () => {
    const clock = createFakeClock();
    return { clock, lease: createLeaseClock(clock, readClock(clock), 1000) };
  };

  it('counts the time that a sleeping machine’s wall clock jumped over', () => {
    const { clock, lease } = leaseOf();
    clock.set(clock.now() + 1000);
    expect(lease.isHeld()).toBe(false);
  });

  it('is not fooled by a wall clock that is set back', async () => {
    const { clock, lease } = leaseOf();
    await clock.advance(500);
    clock.set(clock.now() - 3_600_000);
    await clock.advance(500);
    expect(lease.isHeld()).toBe(false);
  });

  it('runs from the moment at which a beat was sent, not from its answer', async () => {
    const { clock, lease } = leaseOf();
    await clock.advance(900);
    const sentAt = readClock(clock);
    await clock.advance(90);
    lease.renew(sentAt);
    expect(lease.remainingMs()).toBe(910);
  });
});

describe('the beats of many jobs', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i): Claim => ({ ...claim, jobId: `job-${i}`, owner: `w/${i}` }));

  it('are sent 25 per request when due together, and along with those due soon', async () => {
    const { clock, start, batches } = stage();
    for (const each of many(30)) start({ claim: each, lease: leaseOn(clock) });
    await clock.advance(HEARTBEAT_MS * 0.04);
    for (const each of many(32).slice(30)) start({ claim: each, lease: leaseOn(clock) });
    await clock.advance(HEARTBEAT_MS * 0.96);
    expect(batches.map(({ length }) => length)).toEqual([25, 7]);
  });

  it('have a verdict each: a lost lease and a cancellation reach their jobs', async () => {
    const answers: Record<string, HeartbeatOutcome> = {
      'job-1': { outcome: 'lost' },
      'job-2': { outcome: 'extended', cancelRequested: true },
    };
    const { clock, start } = stage({
      answer: async (one) => answers[one?.jobId ?? ''] ?? { outcome: 'extended', cancelRequested: false },
    });
    const told: string[] = [];
    const leases = many(4).map((each) => {
      const lease = leaseOn(clock);
      start({ claim: each, lease, onReport: (report) => told.push(`${each.jobId} ${report}`) });
      return lease;
    });
    await clock.advance(HEARTBEAT_MS);
    expect(told).toEqual(['job-1 refused', 'job-2 cancelRequested']);
    expect(leases.map((lease) => lease.isHeld())).toEqual([true, false, true, true]);
    await clock.advance(LEASE_MS - HEARTBEAT_MS);
    expect(leases.map((lease) => lease.isHeld())).toEqual([true, false, true, true]);
  });
});

const leaseOn = (clock: ReturnType<typeof createFakeClock>) =>
  createLeaseClock(clock, readClock(clock), LEASE_MS);
