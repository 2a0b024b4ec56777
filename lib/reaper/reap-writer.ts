import { decideReap } from '../protocol/decisions/decide-reap.ts';
import { StoreUnavailableError, ThrottledError } from '../protocol/errors.ts';
import type { EventOutlet } from '../protocol/event-outlet.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import { passOn } from '../protocol/limits/pass-on.ts';
import type { Hint, ReapOutcome } from '../protocol/ports.ts';
import { waitAtMost } from '../protocol/wait-at-most.ts';
import type { ReapAction } from '../protocol/writes/reaper-writes.ts';
import { reclaimDelayBound } from '../settings/recovery-bound.ts';
import type { ReaperDeps } from './deps.ts';
import { eventsOf } from './report.ts';
import { COUNTED, leaveBehind, type SweepTally } from './sweep-counts.ts';

/** A multiple of the batch sizes of writes and hints. */
export const REAP_CHUNK = 250;
/** The hints of one chunk go out while the next is written; more would slow other users of the table. */
const CHUNKS_AT_ONCE = 2;

/** An unresponsive queue must not keep the reaper from new lapses. */
const HINT_PATIENCE_MS = 10_000;

export interface Verdict {
  readonly entry: LeaseEntry;
  readonly action: ReapAction;
}

export interface WriterContext {
  readonly tally: SweepTally;
  readonly outlet: Pick<EventOutlet, 'publish'>;
  readonly isCatchingUp: boolean;
}

export type ReapWriter = ReturnType<typeof createReapWriter>;

/** Gathers entries of all shards into full batches, then sends their hints. */
export function createReapWriter(deps: ReaperDeps, context: WriterContext) {
  const { tally, outlet } = context;
  const underWay = new Set<Promise<void>>();
  const buffer: LeaseEntry[] = [];
  let stopped = false;

  const write = async (chunk: readonly LeaseEntry[]): Promise<void> => {
    stopped ||= deps.clockGuard?.isSound() === false;
    if (stopped) return leaveBehind(tally, 'stopped', chunk);
    const written = await writeChunk(deps, context, chunk);
    const at = deps.clock.now();
    for (const verdict of written) count(deps, context, verdict, at);
    await sendHints(deps, tally, written);
    await leaveGroups(deps, written);
    outlet.publish(written.flatMap(({ entry, action }) => eventsOf(entry, action, at)));
  };

  const launch = async (chunk: readonly LeaseEntry[]): Promise<void> => {
    while (underWay.size >= CHUNKS_AT_ONCE) await Promise.race(underWay);
    const writing = write(chunk).finally(() => underWay.delete(writing));
    underWay.add(writing);
  };

  return {
    hasStopped: (): boolean => stopped,
    async add(entries: readonly LeaseEntry[]): Promise<void> {
      buffer.push(...entries);
      while (buffer.length >= REAP_CHUNK) await launch(buffer.splice(0, REAP_CHUNK));
    },
    async finish(): Promise<void> {
      while (buffer.length > 0) await launch(buffer.splice(0, REAP_CHUNK));
      await Promise.all(underWay);
    },
  };
}

async function writeChunk(
  deps: ReaperDeps,
  context: WriterContext,
  chunk: readonly LeaseEntry[],
): Promise<readonly Verdict[]> {
  const { store, clock, random, settings } = deps;
  const now = clock.now();
  const verdicts = chunk.flatMap((entry): Verdict[] => {
    const verdict = decideReap(entry, { now, random: random.next(), settings });
    return verdict.kind === 'leave' ? [] : [{ entry, action: verdict }];
  });
  const outcomes = await store
    .reapMany(verdicts)
    .catch((error: Error) => verdicts.map((): ReapOutcome => ({ outcome: 'failed', error })));
  return verdicts.filter(({ entry }, i) => isWritten(deps, context.tally, entry, outcomes[i] as ReapOutcome));
}

function isWritten(
  { telemetry }: ReaperDeps,
  tally: SweepTally,
  entry: LeaseEntry,
  outcome: ReapOutcome,
): boolean {
  switch (outcome.outcome) {
    case 'written':
      return true;
    case 'moved':
      tally.skipped.moved += 1;
      return false;
    case 'newer':
      telemetry.error('job left alone', outcome.error, { jobId: entry.jobId });
      telemetry.count('RowsTooNew');
      telemetry.count('StoreFailures');
      leaveBehind(tally, 'newer', [entry]);
      return false;
    case 'failed':
      tally.firstError ??= outcome.error;
      leaveBehind(tally, 'unwritten', [entry]);
      if (isPassing(outcome.error)) tally.toRetry += 1;
      return false;
  }
}

function count(
  { telemetry, settings }: ReaperDeps,
  { tally, isCatchingUp }: WriterContext,
  { entry, action }: Verdict,
  at: number,
): void {
  tally[COUNTED[action.kind]] += 1;
  if (action.kind !== 'reclaim') return;
  const delay = at - entry.leaseUntil;
  telemetry.gauge('ReclaimDelay', delay);
  if (delay > reclaimDelayBound(settings) && !isCatchingUp) telemetry.count('ReaperLate');
}

/** A reclaimed job keeps its place for its next claim. */
async function leaveGroups(deps: ReaperDeps, written: readonly Verdict[]): Promise<void> {
  for (const { entry, action } of written) {
    const { group, jobId, attempt } = entry;
    if (group === undefined || 'dispatch' in action) continue;
    await passOn(deps, group, () => deps.store.leave({ group, jobId, attempt }));
  }
}

/** A lost hint costs time, never a job: the row is found again when its dispatch lease ends. */
async function sendHints(
  { queue, clock }: ReaperDeps,
  tally: SweepTally,
  written: readonly Verdict[],
): Promise<void> {
  const hints = written.flatMap(({ entry, action }): Hint[] => {
    const delaySeconds = 'dispatch' in action ? action.dispatch.hintDelaySeconds : undefined;
    return delaySeconds === undefined
      ? []
      : [{ jobId: entry.jobId, type: entry.type, key: entry.key, delaySeconds }];
  });
  if (hints.length === 0) return;
  try {
    const outcome = await waitAtMost(HINT_PATIENCE_MS, queue.sendHints(hints), clock);
    tally.hintsSent += outcome?.sent ?? 0;
    if (outcome?.reason !== undefined) tally.firstError ??= new Error(outcome.reason);
    tally.hintsFailed += outcome === undefined ? hints.length : outcome.failed.length;
  } catch (error) {
    tally.firstError ??= error as Error;
    tally.hintsFailed += hints.length;
  }
}

const isPassing = (error: Error): boolean =>
  error instanceof ThrottledError ||
  (error instanceof StoreUnavailableError &&
    !(error.cause instanceof Error && error.cause.name === 'ValidationException'));
