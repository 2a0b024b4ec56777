import type { Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { settings as few } from './jobs.ts';

interface Given {
  readonly rows?: readonly Row[];
  /** Stands in for some of the table. */
  readonly on?: Partial<Table>;
  readonly settings?: Settings;
}

/** A store on a table in memory, whose single writes are kept. */
export function memoryStore({ rows = [], on = {}, settings = few }: Given = {}) {
  const memory = createMemoryTable();
  for (const each of rows) memory.put(each);
  const writes: RowWrite[] = [];
  const table: Table = {
    ...memory,
    ...on,
    apply(write) {
      writes.push(write);
      return (on.apply ?? memory.apply)(write);
    },
  };
  const clock = createFakeClock();
  const store = createJobStore({ table, clock, random: createFakeRandom(), settings, actor: 'w' });
  return { memory, table, clock, store, writes, names: () => writes.map(({ transition }) => transition) };
}
