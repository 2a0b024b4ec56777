import { describe, expect, it } from 'vitest';
import { describeError, loggableError } from '../../../lib/worker/describe-error.ts';
import { thrownBy } from '../../../lib/worker/thrown.ts';

const trap = (): never => {
  throw new Error('no');
};
const hostile: readonly (readonly [string, unknown])[] = [
  ['an error whose stack is a number', Object.assign(new Error('x'), { stack: 5 })],
  ['an error whose message cannot be read', Object.defineProperty(new Error('x'), 'message', { get: trap })],
  ['an error whose code cannot be read', Object.defineProperty(new Error('x'), 'code', { get: trap })],
  ['a proxy that refuses everything', new Proxy(new Error('x'), { get: trap, getPrototypeOf: trap })],
  ['an object that cannot be written as JSON', { toJSON: () => JSON.parse('{') }],
  ['an object without a prototype', Object.create(null)],
  ['a symbol', Symbol('s')],
  ['nothing', undefined],
];

describe('whatever a handler throws', () => {
  it.each(hostile)('can be described: %s', (_, thrown) => {
    expect(describeError(thrown)).toBeTypeOf('string');
    expect(loggableError(thrown)).toBeTypeOf('string');
    expect(thrownBy(thrown).retryable).toBe(true);
  });

  it('is cut short in the log, and kept whole for the row', () => {
    const thrown = new Error('long '.repeat(10_000));
    expect(Buffer.byteLength(loggableError(thrown))).toBeLessThanOrEqual(1024);
    expect(describeError(thrown)).toContain(thrown.message);
  });
});
