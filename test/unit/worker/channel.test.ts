import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explainDeath } from '../../../lib/worker/cells/cause-of-death.ts';
import { readFromCell } from '../../../lib/worker/cells/channel.ts';
import { cellExecArgv } from '../../../lib/worker/cells/memory.ts';

const limits = { maxResultBytes: 1000, maxCheckpointBytes: 1000 };
const kinds = ['ready', 'unloadable', 'ended', 'unstarted', 'save', 'checked', 'flushed', 'other'];

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

  it('is left out where it is larger than a row could keep', () => {
    const said = [
      { kind: 'save', run: 1, checkpoint: 'x'.repeat(1001) },
      { kind: 'ended', run: 1, end: { kind: 'returned', result: 'x'.repeat(1001) } },
      { kind: 'save', run: 1, checkpoint: 'x'.repeat(1000) },
    ];
    expect(readFromCell(said, limits)).toHaveLength(1);
  });
});

describe('the cause of a death', () => {
  const known = { memory: 0, memoryBytes: 100, ending: { code: null, signal: 'SIGKILL' as const } };

  it('is memory only where the last sample was near the share', () => {
    expect(explainDeath({ ...known, memory: 79 })).toMatch(/^killed \(SIGKILL\) by somebody else/);
    expect(explainDeath({ ...known, memory: 80 })).toMatch(/^out of memory/);
  });

  it('of an abort is the heap only where V8 said so, or memory was short', () => {
    const aborted = { ...known, ending: { code: null, signal: 'SIGABRT' as const } };
    const fatal = (event: string) => JSON.stringify({ origin: 'fatal', fatal: event });
    expect(explainDeath(aborted)).toMatch(/^aborted \(SIGABRT\) by native code/);
    expect(explainDeath({ ...aborted, memory: 80 })).toBe('out of memory (heap)');
    expect(
      explainDeath({ ...aborted, lastWords: fatal('Allocation failed - JavaScript heap out of memory') }),
    ).toBe('out of memory (heap)');
    expect(explainDeath({ ...aborted, lastWords: fatal('Check failed: x.') })).toBe(
      'aborted by V8: Check failed: x.',
    );
    expect(explainDeath({ ...aborted, lastWords: '{"origin":"abort"}' })).toBe('aborted by process.abort()');
  });

  it('is what the host did, whatever else is known', () => {
    expect(explainDeath({ ...known, memory: 99, killedFor: 'stalled' })).toMatch(/maxStallMs/);
  });

  it('survives last words that are no words', () => {
    fc.assert(
      fc.property(fc.string(), (lastWords) => {
        expect(explainDeath({ ...known, lastWords })).toEqual(expect.any(String));
      }),
    );
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
