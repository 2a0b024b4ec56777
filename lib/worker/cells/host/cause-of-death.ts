import type { ExitReport } from '../exit-report.ts';

export type KilledFor = 'ignored signal' | 'stalled' | 'loading' | 'memory' | 'closing';

export interface CellExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: string;
}

/** Share of the memory limit from which an unexplained end counts as out of memory. */
const NEAR = 0.8;
const ABORTED = 134;

const CHANNEL_CLOSED = 'a handler, or what it called, closed the channel to its host';

const OURS: Readonly<Record<KilledFor, string>> = {
  'ignored signal': 'killed: a handler did not stop within killAfterMs of its signal',
  stalled: 'killed: a handler blocked the event loop for longer than maxStallMs',
  loading: 'killed: its jobs module takes too long to load; move slow work into the handlers',
  memory: 'out of memory: killed before its memory was exhausted',
  closing: 'ended with its host',
};

export function explainDeath(known: {
  readonly ending: CellExit;
  readonly killedFor?: KilledFor;
  readonly report?: ExitReport;
  /** The host killed it because its channel was closed. */
  readonly wasDeaf?: boolean;
  readonly memory: number;
  readonly memoryBytes: number;
}): string {
  const { ending, killedFor, report, memory, memoryBytes } = known;
  if (killedFor !== undefined) return OURS[killedFor];
  if (ending.error !== undefined) return `its process could not be started: ${ending.error}`;
  if (report?.origin === 'load') return report.error ?? 'its jobs module cannot be loaded';
  if (report?.error !== undefined)
    return report.origin === 'unhandledRejection'
      ? `unhandled rejection: ${report.error}`
      : `uncaught exception: ${report.error}`;
  if (report?.origin === 'disconnect') return CHANNEL_CLOSED;
  const share = memory / memoryBytes;
  if (ending.signal === 'SIGABRT' || ending.code === ABORTED) return explainAbort(report, share);
  if (ending.signal === 'SIGKILL')
    return share >= NEAR
      ? 'out of memory (killed by the kernel)'
      : known.wasDeaf
        ? CHANNEL_CLOSED
        : 'killed (SIGKILL) by another process than its host';
  if (ending.signal !== null) return `killed (${ending.signal})`;
  const before =
    report?.survived === undefined ? '' : `\nbefore that, its process survived ${report.survived}`;
  return `a handler, or what it called, ended the process with exit code ${ending.code}${before}`;
}

/** V8 leaves a report, `process.abort()` an exit report. Without either it was native code or lack of memory. */
function explainAbort(report: ExitReport | undefined, share: number): string {
  if (report?.origin === 'abort') return 'aborted by process.abort()';
  if (report?.fatal !== undefined)
    return /out of memory/i.test(report.fatal) ? 'out of memory (heap)' : `aborted by V8: ${report.fatal}`;
  return share >= NEAR ? 'out of memory (heap)' : 'aborted (SIGABRT) by native code; stderr may say more';
}
