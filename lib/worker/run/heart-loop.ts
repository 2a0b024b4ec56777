import type { Claim } from '../../protocol/job.ts';
import type { Chance, Clock, JobStore } from '../../protocol/ports.ts';
import { HEART_JITTER } from '../../settings/lease-length.ts';
import { type Heart, type Patient, rhythmOf } from './heart.ts';
import { readClock } from './lease-clock.ts';

/** A beat that got no answer is repeated after this share of the interval. */
const SOONER = 0.25;

export interface HeartLoopOptions {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly store: Pick<JobStore, 'heartbeat'>;
  /** Told of beats that failed for a reason other than a lost lease. */
  readonly onFailure: (claim: Claim, error: unknown) => void;
}

/** The heart, in the host's own event loop: no handler can hold that up. */
export function createHeartLoop(options: HeartLoopOptions): Heart {
  const { clock, chance, store } = options;
  const stops = new Map<string, AbortController>();
  const underWay = new Set<Promise<unknown>>();

  const beatFor = async (patient: Patient, stopped: AbortSignal) => {
    const { lease, onReport } = patient;
    const ageMs = () => clock.monotonic() - patient.startedAt;
    let failed = false;
    for (;;) {
      const intervalMs = rhythmOf(patient, ageMs()).intervalMs * (1 - HEART_JITTER * chance.random());
      // Counted from the last renewal: a heart that was late to start, or had to wait for a reply, catches up.
      const wait = failed ? intervalMs * SOONER : intervalMs - lease.sinceRenewalMs();
      await clock.sleep(Math.max(0, wait), stopped);
      // Past its end the worker has fenced itself; a beat now could only revive a claim that nobody works on.
      if (!lease.isHeld()) return;
      const beat = sendBeat(patient);
      underWay.add(beat);
      const outcome = await beat.finally(() => underWay.delete(beat));
      if (stopped.aborted || lease.hasEnded()) return;
      failed = outcome === 'failed';
      if (outcome === 'refused') {
        lease.refuse();
        return onReport({ kind: 'refused' });
      }
      if (outcome === 'cancelRequested') onReport({ kind: 'cancelRequested' });
    }
  };

  const sendBeat = async ({ claim, lease, ...vitals }: Patient) => {
    const sentAt = readClock(clock);
    const { leaseMs } = rhythmOf(vitals, sentAt.monotonic - vitals.startedAt);
    try {
      const beat = await store.heartbeat(claim, sentAt.wall + leaseMs);
      if (beat.outcome === 'lost') return 'refused';
      if (!lease.hasEnded()) lease.renew(sentAt, leaseMs);
      return beat.cancelRequested ? 'cancelRequested' : 'extended';
    } catch (error) {
      options.onFailure(claim, error);
      return 'failed';
    }
  };

  return {
    start(patient) {
      const stop = new AbortController();
      stops.set(patient.claim.owner, stop);
      beatFor(patient, stop.signal)
        .catch((error: unknown) => {
          if (!stop.signal.aborted) options.onFailure(patient.claim, error);
        })
        .finally(() => stops.delete(patient.claim.owner));
    },
    stop: ({ owner }) => stops.get(owner)?.abort('stopped'),
    async quiet() {
      await Promise.allSettled(underWay);
    },
    async close() {
      for (const stop of stops.values()) stop.abort('closed');
      await Promise.allSettled(underWay);
    },
  };
}
