import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { finishedRow, jobRow } from './rows.ts';

/** Rows in which an operator finds everything that the console must tell. */

export const STACK = `TypeError: fetch failed
    at node:internal/deps/undici/undici:14902:13
    at async callPartner (/app/src/partner.ts:41:17)
    at async Object.run (/app/src/jobs.ts:88:5)
caused by Error: connect ECONNREFUSED 10.0.3.17:443
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1637:16)`;

const claim = (attempt: number, outcome: string, from: number, to: number, cause?: string) => ({
  [`claim0${attempt}`]: { attempt, owner: `host-${attempt}/x`, from, to, outcome, cause },
});

/** A job that threw, was lost with its worker, threw again, and has no attempts left. */
export const usedUp = (jobId: string, now: number): Row =>
  finishedRow(jobId, 'failed', {
    ...{ type: 'send-invoice', attempt: 3, errors: 2, crashes: 1, maxAttempts: 3, lastError: STACK },
    ...{ createdAt: now - 60_000, startedAt: now - 21_000, finishedAt: now - 20_000, leaseOwner: 'host-3/x' },
    ...claim(1, 'retried', now - 60_000, now - 59_000, 'Error: partner answered 503'),
    ...claim(2, 'lapsed', now - 50_000, now - 40_000, 'worker lease expired'),
    ...claim(3, 'failed', now - 21_000, now - 20_000, 'TypeError: fetch failed'),
  });

/** A job that killed three cells. */
export const quarantined = (jobId: string, now: number): Row =>
  finishedRow(jobId, 'failed', {
    ...{ type: 'resize', attempt: 3, crashes: 3, lastError: 'crashed: out of memory (heap)' },
    ...{ createdAt: now - 30_000, startedAt: now - 22_000, finishedAt: now - 19_000, leaseOwner: 'host-3/x' },
    ...claim(1, 'crashed', now - 30_000, now - 27_000, 'crashed: out of memory (heap)'),
    ...claim(2, 'crashed', now - 27_000, now - 22_000, 'crashed: unhandled rejection: Error: no space left'),
    ...claim(3, 'failed', now - 22_000, now - 19_000, 'crashed: out of memory (heap)'),
  });

export const notRetried = (jobId: string, now: number): Row =>
  finishedRow(jobId, 'failed', {
    ...{ type: 'import', errors: 1, startedAt: now - 4_000, finishedAt: now - 3_900 },
    lastError: 'NonRetryableError: customer 17 does not exist\n    at run (/app/src/import.ts:3:9)',
  });

/** A job that runs; its lease ends `leaseLeftMs` from now. */
export const running = (
  jobId: string,
  now: number,
  leaseLeftMs: number,
  over: Readonly<Record<string, unknown>> = {},
): Row =>
  jobRow(jobId, {
    ...{ type: 'report', status: 'running', attempt: 1, leaseShard: 'r0', leaseOwner: 'host-1/k' },
    ...{ startedAt: now - 8_000, heartbeatAt: now - 500, leaseUntil: now + leaseLeftMs, leaseMs: 60_000 },
    ...over,
  });
