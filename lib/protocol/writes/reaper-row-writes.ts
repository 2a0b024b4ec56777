import { LEADER_KEY } from '../../wire/table.ts';
import type { TransitionName } from '../transitions.ts';
import { absent, below, equal } from './clauses.ts';
import type { Clause, RowWrite } from './row-write.ts';

export interface NextSweep {
  /** Token of the message that starts the sweep; reapers started by others stop after one read. */
  readonly wake: string;
  /** A sweep that begins much later was missed. */
  readonly wakeAt: number;
  /** The promising reaper, and how often it has changed. */
  readonly holder: string;
  readonly term: number;
  readonly gaugedAt: number;
  readonly wholeAt: number;
}

const toLeader = (
  transition: TransitionName,
  when: readonly Clause[],
  set: RowWrite['set'],
  rest?: Partial<RowWrite>,
): RowWrite => ({ transition, jobId: LEADER_KEY, when: [when], set, returns: 'nothing', ...rest });

/** Written after the message was sent; refused if another reaper has promised since `seen` was read. */
export const scheduleNextWrite = (
  next: NextSweep,
  { seen, now, shards }: { readonly seen: string | undefined; readonly now: number; readonly shards: number },
): RowWrite => {
  const isAsSeen = seen === undefined ? absent('wake') : equal('wake', seen);
  return toLeader('scheduleNext', [isAsSeen], { ...next, ledAt: now }, { keep: { shards } });
};

/** Postpones the promise while its reaper is working, so that no other considers it broken. */
export const renewWakeWrite = (wake: string, wakeAt: number): RowWrite =>
  toLeader('renewWake', [equal('wake', wake), below('wakeAt', wakeAt)], { wakeAt });

export const releaseWakeWrite = (holder: string): RowWrite =>
  toLeader('releaseWake', [equal('holder', holder)], {}, { remove: ['holder'] });

/** Only grows: rows written with more shards must be found after a rollback. */
export const raiseShardsWrite = (shards: number): RowWrite =>
  toLeader('raiseShards', [below('shards', shards)], { shards });
