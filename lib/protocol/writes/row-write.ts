import type { JsonValue } from '../../wire/message.ts';
import type { TransitionName } from '../transitions.ts';

/**
 * One conditional write to one row, as data. A transition is written down once in this form and then rendered: as an
 * UpdateItem expression, as a PartiQL statement for batches, or evaluated in memory. So the condition that was attacked
 * in the simulation is, clause for clause, the condition that DynamoDB checks.
 */
export interface RowWrite {
  /** For errors, logs and counts. */
  readonly transition: TransitionName;
  readonly jobId: string;
  /** The write is applied if every clause of at least one alternative holds. */
  readonly when: readonly (readonly Clause[])[];
  readonly set: Readonly<Record<string, JsonValue>>;
  /** Set only where the attribute does not exist yet. */
  readonly keep?: Readonly<Record<string, JsonValue>>;
  /** Set to another attribute's value (or `otherwise` where that is absent) plus a number. */
  readonly sum?: Readonly<Record<string, Sum>>;
  readonly remove?: readonly string[];
  /** How much of the row the caller needs back: replies are paid for in bytes and parsing. */
  readonly returns: 'nothing' | 'changed' | 'row';
}

interface Sum {
  readonly of: string;
  readonly otherwise: number;
  readonly plus: number;
}

export type Clause =
  | {
      readonly attribute: string;
      /** `absentOrAtMost` holds without the attribute, too. */
      readonly is: 'equal' | 'below' | 'atMost' | 'absentOrAtMost';
      readonly value: string | number | boolean;
    }
  /** Absent, or present with another value. */
  | { readonly attribute: string; readonly is: 'differs'; readonly value: string | number | boolean }
  | { readonly attribute: string; readonly is: 'absent' | 'present' };

/** A row as it is stored. Its attributes are untrusted until `parseJob` has read them. */
export type Row = Readonly<Record<string, unknown>>;

/** What became of one conditional write. A refusal carries the row as it is, undefined when there is none. */
export type WriteResult =
  | { readonly applied: true; readonly row: Row }
  | { readonly applied: false; readonly row: Row | undefined };

/** The verdict on one write of a batch: a failed one says why, and the others are not affected. */
export type BatchResult = WriteResult | { readonly applied: 'failed'; readonly error: Error };
