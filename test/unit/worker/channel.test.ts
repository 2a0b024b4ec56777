import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFromCell } from '../../../lib/worker/cells/channel.ts';
import { cellExecArgv } from '../../../lib/worker/cells/host/memory.ts';

const limits = { maxResultBytes: 1000, maxCheckpointBytes: 1000 };
const kinds = ['ready', 'ended', 'unstarted', 'save', 'flushed', 'other'];

describe('what a cell says', () => {
  it('never makes its host throw, and is of the known kinds or left out', () => {
    const message = fc.record(
      {
        kind: fc.constantFrom(...kinds),
        run: fc.anything(),
        end: fc.anything(),
        types: fc.anything(),
        checkpoint: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.array(fc.oneof(fc.anything(), message))), (heard) => {
        for (const read of readFromCell(heard, limits)) expect(kinds).toContain(read.kind);
      }),
    );
  });

  const thrown = { text: 'boom', loggable: 'b', retryable: false, quotesPayload: true, retryAfterMs: 5 };
  const unreadable = {
    text: 'thrown value: unreadable',
    loggable: 'unreadable',
    retryable: true,
    quotesPayload: false,
  };
  const NOT_JSON = expect.stringMatching(/^NotJsonError: the result/) as unknown;
  const notJson = {
    ...{ kind: 'ended', run: 1 },
    end: { kind: 'threw', error: { text: NOT_JSON, loggable: NOT_JSON, retryable: true } },
  };
  it.each([
    { kind: 'ended', run: 1, end: { kind: 'returned', result: undefined } },
    { kind: 'ended', run: 1, end: { kind: 'returned', result: '1' } },
    { kind: 'ended', run: 1, end: { kind: 'threw', error: thrown } },
    { kind: 'unstarted', run: 2 },
    { kind: 'save', run: 3, checkpoint: '1', progress: undefined },
    { kind: 'save', run: 3, checkpoint: undefined, progress: '1' },
    { kind: 'save', run: 3, checkpoint: 'ü'.repeat(500) },
    { kind: 'flushed', turn: 5 },
  ])('is read as it was meant: %#', (said) => {
    expect(readFromCell([said], limits)).toEqual([said]);
  });

  it.each<[unknown, unknown]>([
    [
      { kind: 'ready', types: [{ type: 'a', leaseMs: 5 }, 7, null, undefined, { type: 8 }, { type: 'b' }] },
      { kind: 'ready', types: [{ type: 'a', leaseMs: 5 }, { type: 'b' }] },
    ],
    [
      { kind: 'ready', types: 'all' },
      { kind: 'ready', types: [] },
    ],
    [
      { kind: 'ready', types: [{ type: 'x'.repeat(65_537) }, { type: 'y'.repeat(65_536) }] },
      { kind: 'ready', types: [{ type: 'y'.repeat(65_536) }] },
    ],
    [{ kind: 'ended', run: 1, end: { kind: 'returned', result: 1 } }, notJson],
    [{ kind: 'ended', run: 1, end: { kind: 'returned', result: 'no JSON' } }, notJson],
    ...[{ text: 7, loggable: 8, retryable: 'no' }, null, 'boom'].map((error) => [
      { kind: 'ended', run: 1, end: { kind: 'threw', error } },
      { kind: 'ended', run: 1, end: { kind: 'threw', error: unreadable } },
    ]),
  ] as [unknown, unknown][])('is read as far as it can be: %#', (said, heard) => {
    expect(readFromCell([said], limits)).toEqual([heard]);
  });
});

it('a cell keeps the options that load its code, and drops debuggers, heaps and watchers', () => {
  const host = [
    '--inspect=9229',
    '--import',
    'tsx',
    '--conditions=dev',
    '--watch',
    '--max-old-space-size=64',
    '-r',
    './x.cjs',
  ];
  expect(cellExecArgv(host, 400 * 1024 * 1024)).toEqual([
    '--import',
    'tsx',
    '--conditions=dev',
    '-r',
    './x.cjs',
    '--max-old-space-size=300',
  ]);
});
