import { LEADER_KEY } from '../../wire/table.ts';
import type { Clause, RowWrite } from './row-write.ts';

/** The writes to the reaper's own row, which is not a job and not in the index. */

/** Who leads, or wants to. */
export interface Leader {
  readonly name: string;
  /** Until when it leads if it is never heard of again. */
  readonly until: number;
  readonly now: number;
}

/** Takes the lead where nobody has it. One's own name may take it again: a repeat after a lost reply must not wait. */
export const takeLeadWrite = ({ name, until, now }: Leader, shards: number): RowWrite => ({
  transition: 'takeLead',
  jobId: LEADER_KEY,
  when: [
    [{ attribute: 'jobId', is: 'absent' }],
    [{ attribute: 'leaderUntil', is: 'absent' }],
    [{ attribute: 'leaderUntil', is: 'atMost', value: now }],
    [{ attribute: 'leader', is: 'equal', value: name }],
  ],
  set: { leader: name, leaderUntil: until, ledAt: now },
  keep: { shards },
  sum: { term: { of: 'term', otherwise: 0, plus: 1 } },
  returns: 'row',
});

export const extendLeadWrite = ({ name, until, now }: Leader, epoch: number): RowWrite => ({
  transition: 'extendLead',
  jobId: LEADER_KEY,
  when: [leadIsMine(name, epoch)],
  set: { leaderUntil: until, ledAt: now },
  returns: 'row',
});

export const releaseLeadWrite = (name: string, epoch: number): RowWrite => ({
  transition: 'releaseLead',
  jobId: LEADER_KEY,
  when: [leadIsMine(name, epoch)],
  set: { leaderUntil: 0 },
  returns: 'nothing',
});

/** Shards only grow: rows written under a higher number must still be found after a roll-back. */
export const raiseShardsWrite = (shards: number): RowWrite => ({
  transition: 'raiseShards',
  jobId: LEADER_KEY,
  when: [[{ attribute: 'shards', is: 'below', value: shards }]],
  set: { shards },
  returns: 'nothing',
});

const leadIsMine = (name: string, epoch: number): readonly Clause[] => [
  { attribute: 'leader', is: 'equal', value: name },
  { attribute: 'term', is: 'equal', value: epoch },
];
