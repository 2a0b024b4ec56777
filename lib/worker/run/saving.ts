import { claimOf } from '../../protocol/job.ts';
import type { JsonValue } from '../../wire/message.ts';
import type { Kept } from '../cells/cells.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { HeldClaim } from './held-claim.ts';
import { readClock } from './lease-clock.ts';
import { offer, pastLease } from './offer.ts';

/** The writes of a run's handler. */
export interface Saving {
  save(kept: Kept): Promise<'written' | 'lost'>;
  /** Whether the run stored a checkpoint that differs from the one it found. */
  progressed(): boolean;
  /** Resolves when no write is under way, and when it is known what the row says. */
  close(): Promise<void>;
}

/** The handler's writes, with the numbers that fence them. What they change on the row is kept on the job as well. */
export function createSaving(
  parts: Pick<WorkerParts, 'store' | 'telemetry' | 'clock' | 'chance'>,
  { job, claim, lease, stopping }: Pick<HeldClaim, 'job' | 'claim' | 'lease' | 'stopping'>,
  onLost: () => void,
): Saving {
  const { store, telemetry } = parts;
  const found = job.checkpoint === undefined ? undefined : JSON.stringify(job.checkpoint);
  let stored = found;
  let seq = job.checkpointSeq;
  /** The newest checkpoint that got no answer. */
  let unanswered: string | undefined;
  let isUnknown = false;
  let underWay: Promise<unknown> = Promise.resolve();

  const write = async ({ checkpoint, progress }: Kept): Promise<'written' | 'lost'> => {
    seq += 1;
    const kept = { seq, checkpoint: parsed(checkpoint), progress: parsed(progress) };
    const { outcome, ...written } = await store.checkpoint(claim, kept).catch((error: unknown) => {
      lease.ask(readClock(parts.clock));
      isUnknown = true;
      unanswered = checkpoint ?? unanswered;
      throw error;
    });
    isUnknown = false;
    if (outcome === 'written') {
      // The end of this run is decided by the counts as they are now.
      if ('counts' in written) Object.assign(job, written.counts);
      stored = checkpoint ?? stored;
      return 'written';
    }
    telemetry.count('WritesFenced');
    onLost();
    return 'lost';
  };

  /** A write without an answer may stand, and may have forgiven crashes: they must not be charged again from memory. */
  const lookAgain = async (): Promise<void> => {
    const row = await offer(parts, { job, lease }, () => store.read(job.jobId), pastLease({ job, stopping }));
    if (row?.status !== 'running' || !isSame(claimOf(row), claim)) return;
    Object.assign(job, { crashes: row.crashes, releases: row.releases });
    if (row.checkpointSeq === seq) stored = unanswered ?? stored;
  };

  return {
    save(kept) {
      const writing = write(kept);
      underWay = writing.catch(() => {});
      return writing;
    },
    progressed: () => stored !== found,
    async close() {
      await underWay;
      if (isUnknown && (lease.isHeld() || lease.wasUnanswered())) await lookAgain();
    },
  };
}

const isSame = (a: HeldClaim['claim'], b: HeldClaim['claim']): boolean =>
  a.owner === b.owner && a.attempt === b.attempt;

const parsed = (text: string | undefined): JsonValue | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as JsonValue);
