import { rowIsAbsent } from './clauses.ts';
import type { RowWrite } from './row-write.ts';

/** One part of a text in a row of its own. */
export interface DataPart {
  readonly key: string;
  readonly text: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** Keys are used once, so whoever finds the row there wrote it: a repeat after a lost reply is refused, and stands. */
export const putDataWrite = ({ key, text, expiresAt }: DataPart): RowWrite => ({
  transition: 'putData',
  jobId: key,
  when: [[rowIsAbsent]],
  set: { data: text, expiresAt },
  returns: 'nothing',
});

/**
 * A checkpoint goes to the one of two rows that the job's row does not point to. A late repeat of an older one is refused by
 * the newer that is there.
 */
export const replaceDataWrite = ({ key, text, expiresAt }: DataPart, seq: number): RowWrite => ({
  transition: 'replaceData',
  jobId: key,
  when: [[rowIsAbsent], [{ attribute: 'seq', is: 'below', value: seq }]],
  set: { data: text, expiresAt, seq },
  returns: 'nothing',
});
