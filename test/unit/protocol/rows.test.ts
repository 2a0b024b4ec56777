import { describe, expect, it } from 'vitest';
import { dataKeys, isDataPointer, partsOf } from '../../../lib/protocol/rows/data-pointer.ts';
import { attributeBytes, rowBytes } from '../../../lib/protocol/rows/row-bytes.ts';

describe('the bytes of a value, as DynamoDB counts them', () => {
  it.each([
    ['a text by its bytes, not its letters', 'ä€', 5],
    ['zero', 0, 1],
    ['one digit', 1, 2],
    ['two digits', 12, 2],
    ['three digits', 123, 3],
    ['zeros at the end not at all', 1200, 2],
    ['a sign', -12, 3],
    ['a fraction by its digits', 1.25, 3],
    ['zeros on either side of a fraction not at all', 0.0012, 2],
    ['the sign of a fraction', -0.5, 3],
    ['zeros within a fraction', 10.01, 3],
    ['a number beyond the safe range, without the zeros at its end', 2 ** 53 * 1000, 9],
    ['a truth', true, 1],
    ['nothing', null, 1],
    ['an empty map', {}, 3],
    ['a map with its names', { ab: 'c' }, 7],
    ['an empty list', [], 3],
    ['a list without names', ['c', 'de'], 8],
    ['what is nested', { a: ['b'] }, 10],
  ])('%s', (_, value, bytes) => {
    expect(attributeBytes('', value)).toBe(bytes);
  });

  it('counts names, and nothing for absent values', () => {
    expect(rowBytes({ jobId: 'a', type: 'bc' })).toBe(12);
    expect(attributeBytes('payload', undefined)).toBe(0);
  });
});

describe('a pointer to data', () => {
  const pointer = { in: 'c3-7', parts: 1, bytes: 9000 };
  const PART = 350 * 1024;

  it.each([{}, { parts: 100 }, { head: 'boom' }])('is one with %o', (over) => {
    expect(isDataPointer({ ...pointer, ...over })).toBe(true);
  });
  it.each([null, [], 'c3-7', { in: 7 }, { parts: 0 }, { parts: 101 }, { parts: 1.5 }, { bytes: '9' }])(
    'is not %o',
    (over) => {
      const isPart = typeof over === 'object' && over !== null && !Array.isArray(over);
      expect(isDataPointer(isPart ? { ...pointer, ...over } : over)).toBe(false);
    },
  );

  it('names a row for each part, the first without a number', () => {
    expect(dataKeys('a', { ...pointer, parts: 3 })).toEqual(['a#c3-7', 'a#c3-7~1', 'a#c3-7~2']);
  });

  it('cuts a text into parts that are put together again, never through a character', () => {
    const largest = Math.max(...partsOf('x'.repeat(2 * PART)).map((part) => Buffer.byteLength(part)));
    expect(partsOf('')).toEqual(['']);
    expect(partsOf('x'.repeat(largest))).toHaveLength(1);
    const text = `${'x'.repeat(largest - 1)}€${'y'.repeat(largest)}`;
    const parts = partsOf(text);
    expect(parts.join('')).toBe(text);
    expect(parts[0]).toBe('x'.repeat(largest - 1));
    expect(parts.every((part) => Buffer.byteLength(part) <= largest)).toBe(true);
  });
});
