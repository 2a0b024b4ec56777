import { defineJob, NonRetryableError } from 'leasehold';
import * as z from 'zod';

/** Answers for which another attempt cannot help, unlike 408, 429 and the 5xx. */
const isFinal = (status: number): boolean =>
  status >= 400 && status < 500 && status !== 408 && status !== 429;

/**
 * Posts to a service that may be down or slow. An error is retried with growing waits; the idempotency key lets the
 * service recognise a repeat of a request whose answer was lost, and the fencing token one that comes from a past attempt.
 */
export const callService = defineJob({
  type: 'call-service',
  payload: z.object({ url: z.url(), body: z.unknown() }),
  lease: { ms: 30_000, fixed: true },
  maxAttempts: 8,
  backoff: { baseMs: 1000, capMs: 60_000 },
  async run({ payload, idempotencyKey, fencingToken }, { signal, log }) {
    const response = await fetch(payload.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
        'fencing-token': String(fencingToken),
      },
      body: JSON.stringify(payload.body),
      signal,
    });
    const text = await response.text();
    if (isFinal(response.status))
      throw new NonRetryableError(`${payload.url} refused the request with ${response.status}`);
    if (!response.ok) throw new Error(`${payload.url} answered ${response.status}`);
    log.info('service answered', { status: response.status, bytes: text.length });
    return { status: response.status };
  },
});
