import type { DataVersion } from '../rows/data-pointer.ts';
import { attemptIs, below, rowIsAbsent } from './clauses.ts';
import type { Clause, RowWrite } from './row-write.ts';

export interface DataPart {
  readonly key: string;
  readonly text: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** Unversioned keys are used once. A versioned text replaces only older ones, so late repeats do no harm. */
export const putDataWrite = ({ key, text, expiresAt }: DataPart, version?: DataVersion): RowWrite => ({
  transition: 'putData',
  jobId: key,
  when: version === undefined ? [[rowIsAbsent]] : [[rowIsAbsent], ...versionIsOlder(version)],
  set: { data: text, expiresAt, ...version },
  returns: 'nothing',
});

const versionIsOlder = ({ attempt, seq }: DataVersion): readonly (readonly Clause[])[] => [
  [below('attempt', attempt)],
  [attemptIs(attempt), below('seq', seq)],
];

/** Needs no fence, because it changes no text. */
export const extendDataWrite = (key: string, expiresAt: number): RowWrite => ({
  transition: 'extendData',
  jobId: key,
  when: [[below('expiresAt', expiresAt)]],
  set: { expiresAt },
  returns: 'nothing',
});
