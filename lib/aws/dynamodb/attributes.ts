import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { convertToAttr, convertToNative } from '@aws-sdk/util-dynamodb';
import type { Row } from '../../protocol/writes/row-write.ts';
import { setOwn } from '../../wire/defined.ts';

// For batches: the document client copies every request (docs/internals/decisions/0020-aws-sdk-clients.md).

type Item = Record<string, AttributeValue>;

const isPlainObject = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

export function toValue(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (Number.isSafeInteger(value)) return { N: String(value) };
  if (isPlainObject(value)) return { M: toItem(value) };
  return convertToAttr(value, { removeUndefinedValues: true });
}

export function toItem(row: Row): Item {
  const item: Item = {};
  for (const name of Object.keys(row)) {
    const value = row[name];
    if (value !== undefined) setOwn(item, name, toValue(value));
  }
  return item;
}

function fromValue(value: AttributeValue): unknown {
  if (value.S !== undefined) return value.S;
  // One unsafe number in a hand-edited row must not make a page unreadable.
  if (value.N !== undefined) return Number(value.N);
  return convertToNative(value, { wrapNumbers: Number });
}

export function fromItem(item: Item): Row {
  const row: Record<string, unknown> = {};
  for (const name of Object.keys(item)) setOwn(row, name, fromValue(item[name] as AttributeValue));
  return row;
}
