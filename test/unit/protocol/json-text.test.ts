import { describe, expect, it } from 'vitest';
import { TooLargeError } from '../../../lib/protocol/errors.ts';
import { cutToBytes, toJsonText } from '../../../lib/protocol/rows/json-text.ts';

describe('JSON text', () => {
  it('is kept up to its limit in bytes, not characters', () => {
    expect(toJsonText('result', 'äö', 6)).toBe('"äö"');
    expect(() => toJsonText('result', 'äöx', 6)).toThrow(TooLargeError);
    expect(() => toJsonText('result', 'äöx', 6)).toThrow(
      'the result has 7 bytes; at most 6 are allowed. Put the data in S3',
    );
  });

  it.each([
    ['a function', () => 1],
    [
      'a cycle',
      (() => {
        const a: Record<string, unknown> = {};
        a.a = a;
        return a;
      })(),
    ],
    ['a BigInt', 10n],
  ])('is refused for %s', (_, value) => {
    expect(() => toJsonText('result', value as never, 100)).toThrow(
      expect.objectContaining({ code: 'NOT_JSON', cause: expect.any(TypeError) }),
    );
  });
});

describe('a text cut to bytes', () => {
  it.each(['x', 'ä', '€', '😀'])('is cut between characters and says so: %s', (character) => {
    for (let limit = 20; limit < 30; limit++) {
      const cut = cutToBytes(character.repeat(100), limit);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
      expect(cut.replaceAll(character, '')).toBe('… (cut)');
    }
  });

  it('never carries half a surrogate pair, which DynamoDB could not keep', () => {
    expect(cutToBytes('a\ud800b', 20)).toBe('a\ufffdb');
  });
});
