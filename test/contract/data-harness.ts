import { systemRandom } from '../../lib/aws/clock.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import { dataKeys, isDataPointer } from '../../lib/protocol/rows/data-pointer.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { newJob } from '../support/jobs.ts';
import { contractSettings, type Harness } from './harness.ts';

export const KIB = 1024;
export const DAY = 86_400_000;
export const textOf = (bytes: number, letter = 'x'): string => JSON.stringify(letter.repeat(bytes - 2));
export const large = (jobId: string, letter = 'x', bytes = 20 * KIB) => ({
  ...newJob(jobId),
  payload: textOf(bytes, letter),
});

/** A store whose table is watched, and can be made to fail. */
export function watched(harness: Harness, on: Partial<Table> = {}, settings = contractSettings) {
  const writes: RowWrite[] = [];
  const table: Table = {
    ...harness.table,
    apply(write) {
      writes.push(write);
      return (on.apply ?? harness.table.apply)(write);
    },
  };
  const store = createJobStore({ table, clock: harness.clock, random: systemRandom, settings, actor: 'w' });
  return { store, writes, names: () => writes.map(({ transition }) => transition) };
}

export const pointerAt = (row: Row | undefined, name: string) => {
  const pointer = row?.[name];
  if (row === undefined || !isDataPointer(pointer)) throw new Error(`'${name}' should be elsewhere`);
  return { ...pointer, keys: dataKeys(String(row.jobId), pointer) };
};

export const rowOf = async ({ table }: Harness, jobId: string): Promise<Row> =>
  (await table.read(jobId)) ?? {};
