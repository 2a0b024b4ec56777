import type { Table } from '../../protocol/ports.ts';

/** Counts requests that failed after the client's retries. */
export function reportFailures(table: Table, failed: (requests: number) => void): Table {
  const reported =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      try {
        return await call(...args);
      } catch (error) {
        failed(1);
        throw error;
      }
    };
  return {
    apply: reported(table.apply),
    async applyMany(writes) {
      const results = await table.applyMany(writes);
      const broken = results.filter(({ applied }) => applied === 'failed').length;
      if (broken > 0) failed(broken);
      return results;
    },
    read: reported(table.read),
    readMany: reported(table.readMany),
    query: reported(table.query),
    count: reported(table.count),
  };
}
