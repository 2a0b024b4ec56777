import fc from 'fast-check';
import { describe, it } from 'vitest';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { liveThrough, moves } from '../contract/random-lives.ts';

describe('whatever happens to a job in memory', () => {
  it('it has one owner at most, never loses count, ends once, stays in the index until it ends, and within its budgets', async () => {
    await fc.assert(
      fc.asyncProperty(moves, (script) => liveThrough(createMemoryTable(), 'j1', script)),
      { numRuns: 500 },
    );
  }, 60_000);
});
