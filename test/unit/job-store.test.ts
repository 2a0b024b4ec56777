import { describe } from 'vitest';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { describeJobStore } from '../contract/job-store.ts';

describe('the job store in memory', () => {
  describeJobStore(async () => {
    const table = createMemoryTable();
    return { table, put: async (row) => table.put(row) };
  });
});
