import type { JsonValue } from '../../wire/message.ts';
import type { TransitionName } from '../transitions.ts';

/** Names a key of a map; job ids and attribute names cannot contain the separator. */
export const memberPath = (map: string, key: string): string => `${map}#${key}`;

export const isMemberPath = (attribute: string): boolean => attribute.includes('#');

export const pathOf = (attribute: string): readonly [name: string, key?: string] => {
  const at = attribute.indexOf('#');
  return at < 0 ? [attribute] : [attribute.slice(0, at), attribute.slice(at + 1)];
};

/** One write as data, rendered for UpdateItem and PartiQL and evaluated in memory, so that tests check the real condition. */
export interface RowWrite {
  readonly transition: TransitionName;
  readonly jobId: string;
  /** Holds if every clause of at least one alternative holds. */
  readonly when: readonly (readonly Clause[])[];
  readonly set: Readonly<Record<string, JsonValue>>;
  readonly keep?: Readonly<Record<string, JsonValue>>;
  /** Another attribute's value, or `otherwise` if absent, plus a number. */
  readonly sum?: Readonly<Record<string, Sum>>;
  readonly remove?: readonly string[];
  /** What it makes of an absent row, if that is known already. */
  readonly creates?: Row;
  /** Replies cost bytes and parsing. */
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
      readonly is: 'equal' | 'below' | 'atMost';
      readonly value: string | number | boolean;
    }
  /** A map with fewer keys; false if the attribute is absent. */
  | { readonly attribute: string; readonly is: 'sizeBelow'; readonly value: number }
  | { readonly attribute: string; readonly is: 'differs'; readonly value: string | number | boolean }
  | { readonly attribute: string; readonly is: 'absent' | 'present' };

/** As stored; untrusted until `parseJob` has read it. */
export type Row = Readonly<Record<string, unknown>>;

export type WriteResult =
  | { readonly applied: true; readonly row: Row }
  | { readonly applied: false; readonly row: Row | undefined };

export type BatchResult = WriteResult | { readonly applied: 'failed'; readonly error: Error };
