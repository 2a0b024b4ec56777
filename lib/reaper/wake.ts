import type { ReaperRow } from '../protocol/store/reaper-row.ts';
import { longestPauseMs } from '../settings/longest-pause.ts';
import type { Settings } from '../settings/settings.ts';
import { MAX_HINT_DELAY_MS } from '../wire/queues.ts';
import type { SweepResult } from './sweep.ts';
import { changes } from './sweep-counts.ts';

export type Trigger =
  | { readonly kind: 'tick' }
  /** Several messages may come in one batch; the row names the valid one. */
  | { readonly kind: 'wake'; readonly tokens: readonly string[] }
  | { readonly kind: 'timer'; readonly name: string };

/** `keeps`: sweeps and promises the next sweep. `helps`: only sweeps. `waits`: leaves both to the holder. */
type Part = 'keeps' | 'helps' | 'waits';

type WakeSettings = Pick<Settings, 'minLeaseMs' | 'skewMs' | 'minSweepIntervalMs'>;

/** A promise this late is broken: SQS delivers within half a second, and long sweeps postpone theirs. */
const LATE_MS = 5000;
/** A process takes over sooner, because one sweep too many costs less than a late one. */
const TAKEOVER_MS = 200;
/** By this long after a promise, a live process has made its next one. */
export const BACKUP_MS = 2000;
const PAUSE_AFTER_TROUBLE_MS = 5000;

export const isMissed = (promisedAt: number | undefined, now: number): boolean =>
  promisedAt !== undefined && promisedAt > 0 && now > promisedAt + LATE_MS;

type Promised = Pick<ReaperRow, 'wake' | 'wakeAt' | 'holder'>;

export function partOf(row: Promised, trigger: Trigger, now: number, settings: WakeSettings): Part {
  switch (trigger.kind) {
    case 'tick':
      return isMissing(row, now, settings) || isMissed(row.wakeAt, now) ? 'keeps' : 'helps';
    case 'wake':
      return row.wake !== undefined && trigger.tokens.includes(row.wake) ? 'keeps' : 'waits';
    case 'timer':
      return now >= turnAt(row, trigger, now, settings) ? 'keeps' : 'waits';
  }
}

/** For an idle process; `jitterMs` spreads takeovers. */
export function nextLookAt(
  row: Promised,
  trigger: Extract<Trigger, { kind: 'timer' }>,
  jitterMs: number,
  now: number,
  settings: WakeSettings,
): number {
  const turn = turnAt(row, trigger, now, settings);
  return row.holder === trigger.name ? turn : turn + jitterMs;
}

/** A process keeps its own and released promises on time, another's once it is late. */
function turnAt(
  row: Promised,
  { name }: Extract<Trigger, { kind: 'timer' }>,
  now: number,
  settings: WakeSettings,
): number {
  if (isMissing(row, now, settings)) return now;
  const due = row.wakeAt ?? now;
  return row.holder === name || row.holder === undefined ? due : due + TAKEOVER_MS;
}

const isMissing = ({ wake, wakeAt }: Promised, now: number, settings: WakeSettings): boolean =>
  wake === undefined || wakeAt === undefined || wakeAt > now + longestPauseMs(settings) + LATE_MS;

export const isStuck = (result: SweepResult): boolean => result.inTrouble && changes(result) === 0;

/** When the soonest known lease lapses, or an unseen one could; pending jobs have hints on the way. */
export function planWake(
  result: SweepResult,
  { begunAt, now }: { readonly begunAt: number; readonly now: number },
  settings: WakeSettings,
): number {
  const { complete, nextLapseAt } = result;
  const soonest = Math.min(nextLapseAt ?? Number.POSITIVE_INFINITY, begunAt + longestPauseMs(settings));
  const notBefore = Math.max(now, begunAt + settings.minSweepIntervalMs);
  if (complete) return Math.max(notBefore, soonest);
  return isStuck(result) ? Math.max(notBefore, now + PAUSE_AFTER_TROUBLE_MS) : notBefore;
}

/** Rounds up, because an early sweep finds the lease live. */
export const wakeDelaySeconds = (wakeAt: number, now: number): number =>
  Math.ceil(Math.min(Math.max(0, wakeAt - now), MAX_HINT_DELAY_MS) / 1000);
