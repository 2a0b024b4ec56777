import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

function stage(on: Partial<Table> = {}) {
  const memory = createMemoryTable();
  const clock = createFakeClock();
  const store = createJobStore({
    ...{ table: { ...memory, ...on }, clock, random: createFakeRandom(), settings, actor: 'w' },
  });
  const reject = (messageId: string, jobId?: string) =>
    store.reject({ messageId, jobId, reason: 'no JSON', text: '{', bytes: 1, sha256: 'ab' });
  const kept = () => memory.rows().map(({ jobId, messageId }) => [jobId, messageId]);
  return { memory, clock, store, reject, kept };
}

describe('a message that cannot be run', () => {
  it('is kept under its own where it named none, or none that is legal', async () => {
    const { reject, kept } = stage();
    expect(await reject('m1')).toEqual({ outcome: 'written', row: 'bad:m1' });
    expect(await reject('m2', 'a#b')).toEqual({ outcome: 'written', row: 'bad:m2' });
    expect(kept()).toEqual([
      ['bad:m1', 'm1'],
      ['bad:m2', 'm2'],
    ]);
  });

  it('is not stopped by a row that refused it and was gone a moment later', async () => {
    const { reject } = stage({ apply: async () => ({ applied: false, row: undefined }) });
    expect(await reject('m1', 'j1')).toEqual({ outcome: 'written', row: 'bad:m1' });
  });

  it('is not read under a name that is no job id', async () => {
    const { memory, store } = stage();
    memory.put(row({ jobId: 'bad:bad:j1', status: 'failed' }));
    expect(await store.read('bad:j1')).toBeUndefined();
  });
});
