import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromItem, toItem } from '../../../../lib/aws/dynamodb/attributes.ts';

/** The SDK refuses an object with an attribute of the first name, and loses one of the second. */
const name = fc.string({ minLength: 1 }).filter((each) => each !== 'constructor' && each !== '__proto__');

const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.string(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array({ minLength: 1 }),
    fc.array(tie('any')),
    fc.dictionary(name, tie('any')),
  ),
})).any;
const row = fc.dictionary(name, fc.oneof(value, fc.constant(undefined)));

describe('a row on the wire', () => {
  it('is what the SDK would make of it', () => {
    fc.assert(
      fc.property(row, (each) => {
        expect(toItem(each)).toEqual(marshall(each, { removeUndefinedValues: true }));
      }),
    );
  });

  it('comes back as it went', () => {
    fc.assert(
      fc.property(row, (each) => {
        const item = toItem(each);
        expect(fromItem(item)).toEqual(unmarshall(item, { wrapNumbers: Number }));
      }),
    );
  });

  it('may hold numbers beyond the safe range, sets and nulls that an operator put there', () => {
    expect(
      fromItem({
        big: { N: '123456789012345678901234567890' },
        inside: { M: { big: { N: '1e30' }, none: { NULL: true } } },
        names: { SS: ['a', 'b'] },
        sizes: { NS: ['1', '2'] },
        empty: { S: '' },
        zero: { N: '0' },
      }),
    ).toEqual({
      big: 1.2345678901234568e29,
      inside: { big: 1e30, none: null },
      names: new Set(['a', 'b']),
      sizes: new Set([1, 2]),
      empty: '',
      zero: 0,
    });
  });

  it('has no attribute with a special meaning', () => {
    const row = fromItem(JSON.parse('{"__proto__": {"M": {"status": {"S": "done"}}}}'));
    expect(row.status).toBeUndefined();
    expect(Object.keys(row)).toEqual(['__proto__']);
    expect(toItem({ inside: { constructor: 'x' } })).toEqual({ inside: { M: { constructor: { S: 'x' } } } });
  });
});
