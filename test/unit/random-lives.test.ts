import fc from 'fast-check';
import { describe, it } from 'vitest';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { liveThrough, moves } from '../contract/random-lives.ts';
import { atDepth } from '../support/depth.ts';

describe('whatever happens to a job in memory', () => {
  it('it has one owner at most, never loses count, ends once, stays in the index until it ends, and within its budgets', async () => {
    await fc.assert(
      fc.asyncProperty(moves, (script) => liveThrough(createMemoryTable(), 'j1', script)),
      { numRuns: atDepth(150, 2000) },
    );
  });
});
