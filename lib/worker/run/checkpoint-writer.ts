import { claimOf } from '../../protocol/job.ts';
import type { JsonValue } from '../../wire/message.ts';
import type { Kept } from '../cells/cells.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { HeldClaim } from './held-claim.ts';
import { retryUntilLeaseEnds } from './retry-until-lease-ends.ts';

/** Updates the job's counts from the row. */
export function createCheckpointWriter(
  parts: Pick<WorkerParts, 'store' | 'telemetry' | 'clock' | 'random'>,
  { job, claim, lease }: Pick<HeldClaim, 'job' | 'claim' | 'lease'>,
  onLost: () => void,
) {
  const { store, telemetry } = parts;
  const checkpointAtClaim = job.checkpoint === undefined ? undefined : JSON.stringify(job.checkpoint);
  let stored = checkpointAtClaim;
  let seq = job.checkpointSeq;
  let unanswered: string | undefined;
  let isUnknown = false;
  let pending: Promise<unknown> = Promise.resolve();

  const write = async ({ checkpoint, progress }: Kept): Promise<'written' | 'lost'> => {
    seq += 1;
    const kept = { seq, checkpoint: parsed(checkpoint), progress: parsed(progress) };
    const { outcome, ...written } = await store.checkpoint(claim, kept).catch((error: unknown) => {
      isUnknown = true;
      unanswered = checkpoint ?? unanswered;
      throw error;
    });
    isUnknown = false;
    if (outcome === 'written') {
      // The end of the run is decided by these counts.
      if ('counts' in written) Object.assign(job, written.counts);
      stored = checkpoint ?? stored;
      return 'written';
    }
    telemetry.count('WritesFenced');
    onLost();
    return 'lost';
  };

  /** An unanswered write may have changed the counts. Reading them avoids charging twice. */
  const readCounts = async (): Promise<void> => {
    const row = await retryUntilLeaseEnds(parts, { job, lease }, () => store.read(job.jobId));
    if (row?.status !== 'running' || !isSame(claimOf(row), claim)) return;
    Object.assign(job, { crashes: row.crashes, lapses: row.lapses, releases: row.releases });
    if (row.checkpointSeq === seq) stored = unanswered ?? stored;
  };

  return {
    save(kept: Kept): Promise<'written' | 'lost'> {
      const writing = write(kept);
      pending = writing.catch(() => {});
      return writing;
    },
    progressed: () => stored !== checkpointAtClaim,
    async close(): Promise<void> {
      await pending;
      if (isUnknown && lease.isHeld()) await readCounts();
    },
  };
}

const isSame = (a: HeldClaim['claim'], b: HeldClaim['claim']): boolean =>
  a.owner === b.owner && a.attempt === b.attempt;

export const parsed = (text: string | undefined): JsonValue | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as JsonValue);
