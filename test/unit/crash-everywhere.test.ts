import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { crashEverywhere } from '../../lib/testing/crash-everywhere.ts';
import { defineJob } from '../../lib/worker/define-job.ts';

/** A bank that can recognise a repeated request, if it is told which request it is. */
class Bank {
  readonly charges: { readonly account: string; readonly cents: number }[] = [];
  readonly #seen = new Set<string>();

  async charge(account: string, cents: number, idempotencyKey?: string): Promise<void> {
    if (idempotencyKey !== undefined) {
      if (this.#seen.has(idempotencyKey)) return;
      this.#seen.add(idempotencyKey);
    }
    this.charges.push({ account, cents });
  }

  describe(): string {
    return `${this.charges.length} charges`;
  }
}

const payload = z.object({ account: z.string(), cents: z.int() });

/** Tells the bank which request it is. */
const careful = (bank: Bank) =>
  defineJob({
    type: 'charge',
    payload,
    async run(job, { save }) {
      await save({ started: true });
      await bank.charge(job.payload.account, job.payload.cents, job.idempotencyKey);
      return bank.describe();
    },
  });

/** Does not. */
const careless = (bank: Bank) =>
  defineJob({
    type: 'charge',
    payload,
    async run(job) {
      await bank.charge(job.payload.account, job.payload.cents);
    },
  });

const once = (bank: Bank) => expect(bank.charges).toEqual([{ account: 'ada', cents: 100 }]);
const given = { world: () => new Bank(), payload: { account: 'ada', cents: 100 } };

describe('crashing everywhere', () => {
  it('kills the worker before and after every call, and finishes the job each time', async () => {
    const crashes: unknown[] = [];
    const points = await crashEverywhere({
      ...given,
      job: careful,
      check(bank, finished, crash) {
        once(bank);
        expect(finished.status).toBe('done');
        crashes.push(finished.crashes + finished.lapses + finished.releases);
        if (crash === undefined) expect(finished.attempt).toBe(1);
      },
    });
    const around = (dies: string, calls: readonly string[]) =>
      calls.flatMap((call) => ['before', 'after'].map((when) => ({ dies, call, when })));
    expect(points).toEqual([
      ...around('host', ['store.claim', 'store.checkpoint', 'world.charge', 'store.complete']),
      ...around('cell', ['store.checkpoint', 'world.charge']),
    ]);
    // The run without a crash, the eight with one of a host, and the last that found no ninth place; the four of a cell, and
    // the last. A worker that died before its claim, or after its result was stored, costs the job nothing.
    expect(crashes).toEqual([0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0]);
  });

  it('finds the handler that does its work twice, and says where it died', async () => {
    await expect(crashEverywhere({ ...given, job: careless, check: once })).rejects.toThrow(
      /^after the death of a host after world\.charge: /,
    );
  });
});
