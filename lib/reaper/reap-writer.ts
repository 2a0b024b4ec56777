import { decideReap, type Excuse } from '../protocol/decisions/decide-reap.ts';
import { StoreUnavailableError, ThrottledError } from '../protocol/errors.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import type { Hint, ReapOutcome } from '../protocol/ports.ts';
import { waitAtMost } from '../protocol/wait-at-most.ts';
import type { ReapAction } from '../protocol/writes/reaper-writes.ts';
import { reclaimDelayBound } from '../settings/recovery-bound.ts';
import type { ReaperDeps } from './deps.ts';
import { eventsOf } from './report.ts';
import { leaveBehind, type SweepTally } from './sweep-counts.ts';
import { asJudged, type SweepMemory } from './sweep-memory.ts';

/** Writes lapsed entries of any shard in full batches, then sends the hints. Holds a bounded number of entries. */
export interface ReapWriter {
  /** Resolves when the entries are accepted, which waits while too many are under way. */
  add(entries: readonly LeaseEntry[]): Promise<void>;
  /** Resolves when everything accepted is written. */
  finish(): Promise<void>;
  /** The clock turned out to be unsound: nothing more is written. */
  readonly stopped: boolean;
}

/** A multiple of what a write request and a hint request take, so that both are full. */
export const REAP_CHUNK = 250;
/** The hints of one chunk go out while the next is written. More would hold up whoever else uses the table. */
const CHUNKS_AT_ONCE = 2;

/** A queue that does not answer must not keep the reaper from the leases that lapse meanwhile. */
const HINT_PATIENCE_MS = 10_000;

interface Verdict {
  readonly entry: LeaseEntry;
  readonly action: ReapAction;
}

interface WriterContext {
  readonly tally: SweepTally;
  readonly memory: SweepMemory;
  readonly breakerOpen: boolean;
  readonly excuseOf?: ExcuseOf;
}

/** Why a lapse is nobody's fault, where it is. */
export type ExcuseOf = (entry: LeaseEntry) => Excuse | undefined;

export function createReapWriter(deps: ReaperDeps, context: WriterContext): ReapWriter {
  const { tally, memory } = context;
  const underWay = new Set<Promise<void>>();
  let buffer: LeaseEntry[] = [];
  let stopped = false;

  const takeChunk = (): readonly LeaseEntry[] => {
    const chunk = buffer.slice(0, REAP_CHUNK);
    buffer = buffer.slice(REAP_CHUNK);
    return chunk;
  };

  const write = async (chunk: readonly LeaseEntry[]): Promise<void> => {
    stopped ||= deps.clockGuard?.isSound() === false;
    if (stopped) return leaveBehind(tally, 'stopped', chunk);
    const written = await writeChunk(deps, context, chunk);
    const at = deps.clock.now();
    for (const verdict of written) count(deps, context, verdict, at);
    await sendHints(deps, tally, written);
    memory.outlet.publish(written.flatMap(({ entry, action }) => eventsOf(entry, action, at)));
  };

  const launch = async (chunk: readonly LeaseEntry[]): Promise<void> => {
    while (underWay.size >= CHUNKS_AT_ONCE) await Promise.race(underWay);
    const writing = write(chunk).finally(() => underWay.delete(writing));
    underWay.add(writing);
  };

  return {
    get stopped() {
      return stopped;
    },
    async add(entries) {
      buffer.push(...entries);
      while (buffer.length >= REAP_CHUNK) await launch(takeChunk());
    },
    async finish() {
      while (buffer.length > 0) await launch(takeChunk());
      await Promise.all(underWay);
    },
  };
}

/** Decides on each entry and writes what was decided; returns what the store took. */
async function writeChunk(
  deps: ReaperDeps,
  context: WriterContext,
  chunk: readonly LeaseEntry[],
): Promise<readonly Verdict[]> {
  const { store, clock, settings } = deps;
  const now = clock.now();
  const verdicts = chunk.flatMap((entry): Verdict[] => {
    const verdict = decideReap(entry, { now, settings, excuse: context.excuseOf?.(entry) });
    return verdict.kind === 'leave' ? [] : [{ entry, action: verdict }];
  });
  const outcomes = await store
    .reapMany(verdicts)
    .catch((error: Error) => verdicts.map((): ReapOutcome => ({ outcome: 'failed', error })));
  return verdicts.flatMap(({ entry, action }, i): Verdict[] => {
    const outcome = outcomes[i];
    if (!isWritten(deps, context, entry, outcome)) return [];
    return [{ entry, action: (outcome?.outcome === 'written' ? outcome.action : undefined) ?? action }];
  });
}

function isWritten(
  { telemetry }: ReaperDeps,
  { tally, memory }: WriterContext,
  entry: LeaseEntry,
  outcome: ReapOutcome | undefined,
): boolean {
  switch (outcome?.outcome) {
    case 'written':
      return true;
    case 'moved':
      tally.skipped.moved += 1;
      memory.unmoved.set(asJudged(entry), 'moved');
      return false;
    case 'newer':
      telemetry.error('job left alone', outcome.error, { jobId: entry.jobId });
      telemetry.count('RowsTooNew');
      telemetry.count('StoreFailures');
      leaveBehind(tally, 'newer', [entry]);
      memory.unmoved.set(asJudged(entry), 'refused');
      return false;
    case 'failed':
      tally.firstError ??= outcome.error;
      leaveBehind(tally, 'unwritten', [entry]);
      if (isPassing(outcome.error)) tally.unwrittenShards.add(entry.leaseShard);
      else memory.unmoved.set(asJudged(entry), 'refused');
      return false;
    case undefined:
      return false;
  }
}

function count(
  { telemetry, settings }: ReaperDeps,
  { tally, breakerOpen }: WriterContext,
  { entry, action }: Verdict,
  at: number,
): void {
  switch (action.kind) {
    case 'reclaim':
      tally.reclaimed += 1;
      telemetry.gauge('ReclaimDelay', at - entry.leaseUntil);
      if (at - entry.leaseUntil > reclaimDelayBound(settings) && !breakerOpen) telemetry.count('ReaperLate');
      return;
    case 'fail':
      tally.failed += 1;
      if (action.quarantined) tally.quarantined += 1;
      return;
    case 'redispatch':
      tally.redispatched += 1;
      return;
    case 'cancel':
      tally.cancelled += 1;
  }
}

/** A hint that is not sent costs time, never a job: its row is found again when the queue's lease ends. */
async function sendHints(
  { queue, clock }: ReaperDeps,
  tally: SweepTally,
  written: readonly Verdict[],
): Promise<void> {
  const hints = written.flatMap(({ entry, action }): Hint[] => {
    const delaySeconds = 'dispatch' in action ? action.dispatch.hintDelaySeconds : undefined;
    return delaySeconds === undefined ? [] : [{ jobId: entry.jobId, type: entry.type, delaySeconds }];
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

/** Whether the same write may well succeed in a moment, as opposed to one that the store will always refuse. */
const isPassing = (error: Error): boolean =>
  error instanceof ThrottledError ||
  (error instanceof StoreUnavailableError &&
    !(error.cause instanceof Error && error.cause.name === 'ValidationException'));
