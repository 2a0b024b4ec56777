import type { DataVersion } from '../rows/data-pointer.ts';
import { attemptIs, rowIsAbsent } from './clauses.ts';
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
  [{ attribute: 'attempt', is: 'below', value: attempt }],
  [attemptIs(attempt), { attribute: 'seq', is: 'below', value: seq }],
];

/** Needs no fence, because it changes no text. */
export const extendDataWrite = (key: string, expiresAt: number): RowWrite => ({
  transition: 'extendData',
  jobId: key,
  when: [[{ attribute: 'expiresAt', is: 'below', value: expiresAt }]],
  set: { expiresAt },
  returns: 'nothing',
});
