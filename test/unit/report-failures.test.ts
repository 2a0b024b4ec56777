import { expect, it } from 'vitest';
import { reportFailures } from '../../lib/aws/dynamodb/report-failures.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';

it('reports each failed request to the table, and no refusal', async () => {
  const memory = createMemoryTable();
  let failures = 0;
  const broken = () => Promise.reject(new Error('AccessDenied'));
  const told: number[] = [];
  const count = (requests: number) => {
    failures += requests;
    told.push(requests);
  };
  const table = reportFailures({ ...memory, read: broken, query: broken }, count);
  await expect(table.read('a')).rejects.toThrow('AccessDenied');
  await expect(table.query({ partition: 'r0', limit: 1 } as never)).rejects.toThrow('AccessDenied');
  expect(failures).toBe(2);
  const refused = {
    transition: 'renewWake',
    jobId: 'a',
    when: [[{ attribute: 'jobId', is: 'present' }]],
    set: { wakeAt: 1 },
    returns: 'nothing',
  } as const;
  expect(await table.apply(refused)).toMatchObject({ applied: false });
  expect(await table.applyMany([refused])).toMatchObject([{ applied: false }]);
  expect(told).toEqual([1, 1]);
  const half = reportFailures(
    {
      ...memory,
      applyMany: async () => [
        { applied: 'failed', error: new Error('throttled') },
        { applied: 'failed', error: new Error('throttled') },
        { applied: true, row: {} },
      ],
    },
    count,
  );
  await half.applyMany([refused, refused, refused]);
  expect(told).toEqual([1, 1, 2]);
});
