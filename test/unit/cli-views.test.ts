import { describe, expect, it } from 'vitest';
import { decodeKey, decodePlace, encodeKey, encodePlace } from '../../lib/client/cursor.ts';

describe('a place in a listing', () => {
  it('survives being pasted, and is refused when it is not one', () => {
    const ties: Record<string, string>[] = [{ r0: 'a' }, { f12: 'bad:a-b.c_D', q3: 'by hand/ü 100%:x' }, {}];
    for (const upTo of ties) {
      const place = { at: 1_800_000_000_123, upTo };
      expect(decodePlace(encodePlace(place))).toEqual(place);
    }
    expect(encodePlace({ at: 1_800_000_000_123, upTo: { r0: 'invoice-1' } })).toBe(
      '1800000000123/r0:invoice-1',
    );
    expect(decodePlace(undefined)).toBeUndefined();
    for (const text of ['', 'x', '1/', '1/r0', '1/r0:', '1/r0:%', '/r0:a', '~a'])
      expect(() => decodePlace(text)).toThrow('the cursor is');
    for (const jobId of ['a', 'by hand ü%']) expect(decodeKey(encodeKey(jobId))).toEqual({ jobId });
    for (const text of ['', '~', '~%', '1/r0:a']) expect(() => decodeKey(text)).toThrow('the cursor is');
  });
});
