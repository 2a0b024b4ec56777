import { describe, expect, expectTypeOf, it } from 'vitest';
import { defined } from '../../../lib/wire/defined.ts';

describe('defined', () => {
  it('drops the keys whose value is undefined, and no others', () => {
    const given = { a: undefined, b: null, c: 0, d: '', e: false, f: Number.NaN };
    expect(Object.keys(defined(given))).toEqual(['b', 'c', 'd', 'e', 'f']);
    expect(Object.keys(given)).toHaveLength(6);
  });

  it('leaves a default alone when it is spread over it', () => {
    const given: { size?: number | undefined; name: string } = { size: undefined, name: 'n' };
    const spread = { size: 3, ...defined(given) };
    expect(spread).toEqual({ size: 3, name: 'n' });
    expectTypeOf(spread).toEqualTypeOf<{ size: number; name: string }>();
  });

  it('keeps a key that is called __proto__, as rows and payloads may have one', () => {
    expect(Object.entries(defined(JSON.parse('{ "__proto__": 3 }')))).toEqual([['__proto__', 3]]);
  });
});
