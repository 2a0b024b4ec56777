import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { convertToAttr, convertToNative } from '@aws-sdk/util-dynamodb';
import type { Row } from '../jobs/row-write.ts';

/**
 * Rows and values as the wire has them. The document client does the same for every kind of value, but walks each request
 * and reply twice for it; nearly all of ours are texts and whole numbers (docs/decisions/0016-plain-client.md).
 */

type Item = Record<string, AttributeValue>;

const isPlainObject = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

export function toValue(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (Number.isSafeInteger(value)) return { N: String(value) };
  if (isPlainObject(value)) return { M: toItem(value) };
  return convertToAttr(value, { removeUndefinedValues: true });
}

export const toItem = (row: Row): Item =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => (value === undefined ? [] : [[name, toValue(value)]])),
  );

function fromValue(value: AttributeValue): unknown {
  if (value.S !== undefined) return value.S;
  // Whatever its size: one number beyond the safe range, in one hand-edited row, must not make a page unreadable.
  if (value.N !== undefined) return Number(value.N);
  return convertToNative(value, { wrapNumbers: Number });
}

/** Defines each attribute rather than assigning it, so that one named `__proto__` is an attribute like any other. */
export const fromItem = (item: Item): Row =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, fromValue(value)]));
