import { LEADER_KEY } from '../../wire/table.ts';
import type { TransitionName } from '../transitions.ts';
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
  const isAsSeen: Clause =
    seen === undefined
      ? { attribute: 'wake', is: 'absent' }
      : { attribute: 'wake', is: 'equal', value: seen };
  return toLeader('scheduleNext', [isAsSeen], { ...next, ledAt: now }, { keep: { shards } });
};

/** Postpones the promise while its reaper is working, so that no other considers it broken. */
export const renewWakeWrite = (wake: string, wakeAt: number): RowWrite => {
  const isThisWake: Clause = { attribute: 'wake', is: 'equal', value: wake };
  return toLeader('renewWake', [isThisWake, { attribute: 'wakeAt', is: 'below', value: wakeAt }], { wakeAt });
};

export const releaseWakeWrite = (holder: string): RowWrite => {
  const isHolder: Clause = { attribute: 'holder', is: 'equal', value: holder };
  return toLeader('releaseWake', [isHolder], {}, { remove: ['holder'] });
};

/** Only grows: rows written with more shards must be found after a rollback. */
export const raiseShardsWrite = (shards: number): RowWrite =>
  toLeader('raiseShards', [{ attribute: 'shards', is: 'below', value: shards }], { shards });
