import { absent, atMost, equal, rowIsAbsent } from '../writes/clauses.ts';
import { type Clause, memberPath, type RowWrite } from '../writes/row-write.ts';
import type { Group, Members } from './group.ts';

const entryOf = (jobId: string): string => memberPath('members', jobId);

const hasNoEntry = (jobId: string): Clause => absent(entryOf(jobId));

const entryIsNotAbove = (jobId: string, attempt: number): Clause => atMost(entryOf(jobId), attempt);

const hasRoomFor = (count: number, limit: number): Clause => ({
  attribute: 'members',
  is: 'sizeBelow',
  value: limit - count + 1,
});

export interface Admission {
  readonly jobId: string;
  readonly attempt: number;
}

/** DynamoDB cannot set a key of a missing map. */
export const openGroupWrite = (
  { name, limit }: Group,
  { jobId, attempt }: Admission,
  expiresAt: number,
): RowWrite => ({
  transition: 'openGroup',
  jobId: name,
  when: [[rowIsAbsent]],
  set: { members: { [jobId]: attempt }, limit, expiresAt },
  returns: 'nothing',
});

/** Replaces the job's entry, so that no late write of an earlier attempt can remove it. */
export const admitWrite = (
  { name, limit }: Group,
  { jobId, attempt }: Admission,
  expiresAt: number,
): RowWrite => ({
  transition: 'admit',
  jobId: name,
  when: [[entryIsNotAbove(jobId, attempt)], [hasRoomFor(1, limit), hasNoEntry(jobId)]],
  set: { [entryOf(jobId)]: attempt, limit, expiresAt },
  returns: 'nothing',
});

/** Reserves the place for `next` in the same write. */
export const leaveWrite = (
  { name, limit }: Group,
  { jobId, attempt }: Admission,
  next?: { readonly jobId: string; readonly now: number },
): RowWrite => ({
  transition: 'leave',
  jobId: name,
  when: [
    [
      entryIsNotAbove(jobId, attempt),
      ...(next === undefined ? [] : [hasNoEntry(next.jobId), hasRoomFor(0, limit)]),
    ],
  ],
  set: next === undefined ? {} : { [entryOf(next.jobId)]: -next.now },
  remove: [entryOf(jobId)],
  returns: 'row',
});

export const reserveWrite = ({ name, limit }: Group, jobIds: readonly string[], now: number): RowWrite => ({
  transition: 'reserve',
  jobId: name,
  when: [[hasRoomFor(jobIds.length, limit), ...jobIds.map(hasNoEntry)]],
  set: Object.fromEntries(jobIds.map((jobId) => [entryOf(jobId), -now])),
  returns: 'nothing',
});

/** Only unchanged entries, so that a job admitted meanwhile keeps its place. */
export const evictWrite = (group: string, entries: Members): RowWrite => ({
  transition: 'evict',
  jobId: group,
  when: [Object.entries(entries).map(([jobId, number]) => equal(entryOf(jobId), number))],
  set: {},
  remove: Object.keys(entries).map(entryOf),
  returns: 'row',
});
