import type { Row } from '../writes/row-write.ts';

/** DynamoDB's overhead for a map or list, and for each member. */
const NESTING_BYTES = 3;

/** As DynamoDB counts it. */
export function rowBytes(row: Row): number {
  let sum = 0;
  for (const name of Object.keys(row)) sum += attributeBytes(name, row[name]);
  return sum;
}

export const attributeBytes = (name: string, value: unknown): number =>
  value === undefined ? 0 : Buffer.byteLength(name) + valueBytes(value);

function valueBytes(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return Buffer.byteLength(value);
    case 'number':
      return numberBytes(value);
    case 'object': {
      if (value === null) return 1;
      const members = Array.isArray(value) ? value.map((member) => ['', member]) : Object.entries(value);
      return members.reduce(
        (sum, [name, member]) => sum + 1 + Buffer.byteLength(String(name)) + valueBytes(member),
        NESTING_BYTES,
      );
    }
    default:
      return 1;
  }
}

/** One byte for every two significant digits, plus one. */
function numberBytes(value: number): number {
  const sign = value < 0 ? 1 : 0;
  if (!Number.isSafeInteger(value)) return Math.ceil(fractionDigits(value) / 2) + 1 + sign;
  let significant = Math.abs(value);
  while (significant !== 0 && significant % 10 === 0) significant /= 10;
  let digits = 0;
  for (; significant >= 1; significant /= 10) digits += 1;
  return Math.ceil(digits / 2) + 1 + sign;
}

const fractionDigits = (value: number): number =>
  String(Math.abs(value)).replace('.', '').replace(/^0+/, '').replace(/0+$/, '').length;
