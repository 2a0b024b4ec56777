import { toJsonText } from '../../protocol/rows/json-text.ts';
import type { JsonValue } from '../../wire/message.ts';
import { type AbortReason, Cancelled, LeaseLost } from '../abort-reasons.ts';
import { createJobContext } from '../cells/job-context.ts';
import type { HandlerJob, JobContext, JobDefinition } from '../define-job.ts';
import { termsOf } from '../registry.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { HeldClaim } from './end-claim.ts';
import { growthOf, type HeartReport, rhythmOf, type Vitals } from './heart.ts';
import { timeoutOf, watchClaim } from './watch-claim.ts';

/** By itself, `abort` makes an error with a stack for a reason, which nobody reads here. */
const OVER = 'over';

/** How a host bounds a run. */
export interface RunBounds {
  /** Fires with a `ShuttingDown` when the job is to stop and be released. */
  readonly stopping: AbortSignal;
  /** How long to wait for a handler that was asked to stop. */
  readonly releaseWithinMs: number;
}

type Outcome =
  | { readonly kind: 'returned'; readonly result: JsonValue | undefined }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The handler did not react to its signal in time. */
  | { readonly kind: 'abandoned' };

/** What came of a run, before anything of it is stored. */
export interface Supervised {
  readonly outcome: Outcome;
  readonly reason: AbortReason | undefined;
  /** Whether the run stored a checkpoint that differs from the one it found. */
  readonly progressed: boolean;
}

/** Runs a handler with its heart beating, and aborts it when its lease, its limits, an operator or the host say so. */
export async function supervise(
  parts: WorkerParts,
  { job, claim, lease }: HeldClaim,
  work: { readonly definition: JobDefinition; readonly view: HandlerJob; readonly startedAt: number },
  bounds: RunBounds,
): Promise<Supervised> {
  const { settings, clock, telemetry, heart } = parts;
  const terms = termsOf(work.definition, settings);
  const { maxRunMs, progressTimeoutMs, maxStallMs } = terms;
  const vitals: Vitals = {
    leaseMs: job.leaseMs,
    heartbeatMs: settings.heartbeatMs,
    growth: growthOf(settings),
    maxRunMs,
    progressTimeoutMs,
    maxStallMs,
    startedAt: work.startedAt,
  };
  const aborting = new AbortController();
  const over = new AbortController();
  const { signal } = aborting;
  const abort = (reason: AbortReason) => aborting.abort(reason);
  const onReport = (report: HeartReport) => {
    if (report.kind === 'refused') telemetry.count('WritesFenced');
    abort(reasonOf(report, vitals));
  };
  const progressIntervalMs = rhythmOf(vitals, 0).intervalMs;
  const ofRun = createJobContext({ parts, job, claim, lease, signal, abort, progressIntervalMs });

  const beating = terms.fixedLease ? undefined : heart.start({ ...vitals, claim, lease, onReport });
  const watching = watchClaim({ clock, lease, vitals, abort, over: over.signal });
  void aborted(bounds.stopping, over.signal).then(() => abort(bounds.stopping.reason));
  await beating;

  const outcome = await Promise.race([
    handle(work.definition, work.view, ofRun.context, settings.maxResultBytes),
    abandonment(parts, signal, over.signal, bounds, job.leaseMs),
  ]).finally(() => {
    over.abort(OVER);
    heart.stop(claim);
  });
  await Promise.all([watching, ofRun.close()]);
  return { outcome, reason: signal.reason, progressed: ofRun.progressed() };
}

async function handle(
  definition: JobDefinition,
  view: HandlerJob,
  context: JobContext,
  maxResultBytes: number,
): Promise<Outcome> {
  try {
    const result = (await definition.run(view, context)) ?? undefined;
    if (result === undefined) return { kind: 'returned', result };
    // As it is now: what was left running may still change it, even into something that cannot be kept.
    return { kind: 'returned', result: JSON.parse(toJsonText('result', result, maxResultBytes)) };
  } catch (error) {
    return { kind: 'threw', error };
  }
}

/** Resolves some time after the signal fired: a handler has a lease's length to end, less when the host must go. */
async function abandonment(
  { clock }: WorkerParts,
  signal: AbortSignal,
  over: AbortSignal,
  { stopping, releaseWithinMs }: RunBounds,
  leaseMs: number,
): Promise<Outcome> {
  await aborted(signal, over);
  const wait = (ms: number) => clock.sleep(ms, over).catch(() => {});
  await Promise.race([wait(leaseMs), aborted(stopping, over).then(() => wait(releaseWithinMs))]);
  return { kind: 'abandoned' };
}

function reasonOf(report: HeartReport, vitals: Vitals): AbortReason {
  switch (report.kind) {
    case 'refused':
      return new LeaseLost('refused');
    case 'cancelRequested':
      return new Cancelled();
    case 'stopped':
      return timeoutOf(report.why, vitals);
  }
}

/** Resolves when the signal fires; never, and leaving nothing behind, once the run is over. */
const aborted = (signal: AbortSignal, over: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
