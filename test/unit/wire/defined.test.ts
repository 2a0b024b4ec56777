import { describe, expect, it } from 'vitest';
import { defined } from '../../../lib/wire/defined.ts';

describe('defined', () => {
  it('drops the keys whose value is undefined, and no others', () => {
    const given = { a: undefined, b: null, c: 0, d: '', e: false, f: Number.NaN };
    expect(Object.keys(defined(given))).toEqual(['b', 'c', 'd', 'e', 'f']);
    expect(Object.keys(given)).toHaveLength(6);
  });

  it('keeps a key that is called __proto__, as rows and payloads may have one', () => {
    expect(Object.entries(defined(JSON.parse('{ "__proto__": 3 }')))).toEqual([['__proto__', 3]]);
  });
});
