import { defineJob, NonRetryableError } from 'leasehold';
import * as z from 'zod';

/** Mails an invoice. The mail service knows the job by its idempotency key, so a second attempt sends no second mail. */
export const sendInvoice = defineJob({
  type: 'send-invoice',
  payload: z.object({ order: z.int(), to: z.email() }),
  maxAttempts: 8,
  async run({ payload, idempotencyKey }, { signal }) {
    const url = process.env.MAIL_URL;
    if (url === undefined)
      throw new NonRetryableError(
        'MAIL_URL is not set; the stack sets it, and on your machine the shell or .env',
      );
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify(payload),
      signal,
    });
    if (!response.ok) throw new Error(`the mail service answered ${response.status}`);
  },
});
