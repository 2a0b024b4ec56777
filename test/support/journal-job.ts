import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { NonRetryableError } from '../../lib/protocol/errors.ts';
import { LeaseholdError } from '../../lib/wire/leasehold-error.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { type JournalLine, writeJournal } from './journal.ts';

/** What one attempt does besides its steps. */
const fates = ['throw', 'giveUp', 'exit', 'kill', 'exhaustMemory', 'spin', 'ignoreSignal'] as const;
export type Fate = (typeof fates)[number];

/** A job that does what its payload says, step by step, and keeps a journal of it. */
export const journalJob = defineJob({
  type: 'journal',
  payload: z.object({
    steps: z.int(),
    stepMs: z.int(),
    /** By attempt; without one, the attempt does its steps and returns. */
    fates: z.optional(z.record(z.string(), z.enum(fates))),
    /** How long each step computes, in ms. */
    burnMs: z.optional(z.int()),
    /** What an attempt leaves in memory for good. */
    leakMb: z.optional(z.int()),
    /** How long an attempt that ignores its signal goes on. */
    overrunMs: z.optional(z.int()),
    /** The journal's file, where the environment cannot name it. */
    journal: z.optional(z.string()),
  }),
  checkpoint: z.object({ step: z.int() }),
  async run({ jobId, attempt, payload, checkpoint }, { signal, save, log }) {
    const write = (line: Pick<JournalLine, 'event' | 'step' | 'reason'>) =>
      writeJournal({ jobId, attempt, ...line }, payload.journal);
    const fate = payload.fates?.[String(attempt)];
    const heed = fate === 'ignoreSignal' ? undefined : signal;
    write({ event: 'start', step: checkpoint?.step ?? 0 });
    log.info('started');
    signal.addEventListener('abort', () => write({ event: 'abort', reason: codeOf(signal.reason) }));
    for (let step = checkpoint?.step ?? 0; step < payload.steps; step++) {
      await sleep(payload.stepMs, undefined, { signal: heed }).catch(() => {});
      heed?.throwIfAborted();
      burn(payload.burnMs ?? 0);
      write({ event: 'effect', step });
      try {
        await save({ step: step + 1 });
        write({ event: 'stored', step: step + 1 });
      } catch (error) {
        if (heed !== undefined) throw error;
      }
    }
    leaked.push(Buffer.alloc((payload.leakMb ?? 0) * 2 ** 20, 1));
    await meet(fate, payload.overrunMs ?? 0);
    write({ event: 'end' });
    return { attempt };
  },
});

const leaked: Buffer[] = [];

function burn(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

async function meet(fate: Fate | undefined, overrunMs: number): Promise<void> {
  switch (fate) {
    case undefined:
      return;
    case 'throw':
      throw new Error('planned');
    case 'giveUp':
      throw new NonRetryableError('planned, for good');
    case 'exit':
      return process.exit(1);
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      return;
    case 'exhaustMemory':
      return exhaustMemory();
    case 'spin':
      for (;;);
    case 'ignoreSignal':
      await sleep(overrunMs);
  }
}

function exhaustMemory(): void {
  const hoard: unknown[] = [];
  for (;;) hoard.push(new Array(100_000).fill(Math.random()));
}

const codeOf = (reason: unknown): string =>
  reason instanceof LeaseholdError ? reason.code : String((reason as Error | undefined)?.name);
