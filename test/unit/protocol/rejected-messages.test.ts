import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { newJob, settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

function stage(on: Partial<Table> = {}) {
  const memory = createMemoryTable();
  const clock = createHandClock();
  const store = createJobStore({
    ...{ table: { ...memory, ...on }, clock, chance: createHandChance(), settings, actor: 'w' },
  });
  const reject = (messageId: string, jobId?: string) =>
    store.reject({ messageId, jobId, reason: 'no JSON', text: '{', bytes: 1, sha256: 'ab' });
  const kept = () => memory.rows().map(({ jobId, messageId }) => [jobId, messageId]);
  return { memory, clock, store, reject, kept };
}

describe('a message that cannot be run', () => {
  it('is kept under the id that it named', async () => {
    const { memory, clock, reject } = stage();
    expect(await reject('m1', 'j1')).toEqual({ outcome: 'written', row: 'bad:j1' });
    expect(memory.rows()).toMatchObject([
      {
        ...{ jobId: 'bad:j1', messageId: 'm1', lastError: 'no JSON', rawText: '{' },
        expiresAt: Math.ceil((clock.now() + settings.rowRetentionMs) / 1000),
      },
    ]);
  });

  it('is kept under its own where it named none, or none that is legal', async () => {
    const { reject, kept } = stage();
    expect(await reject('m1')).toEqual({ outcome: 'written', row: 'bad:m1' });
    expect(await reject('m2', 'a#b')).toEqual({ outcome: 'written', row: 'bad:m2' });
    expect(kept()).toEqual([
      ['bad:m1', 'm1'],
      ['bad:m2', 'm2'],
    ]);
  });

  it('is kept under its own where another has that place, and once however often it comes', async () => {
    const { reject, kept } = stage();
    await reject('m1', 'j1');
    for (let times = 0; times < 2; times++) {
      expect(await reject('m1', 'j1')).toEqual({ outcome: 'written', row: 'bad:j1' });
      expect(await reject('m2', 'j1')).toEqual({ outcome: 'written', row: 'bad:m2' });
    }
    expect(kept()).toEqual([
      ['bad:j1', 'm1'],
      ['bad:m2', 'm2'],
    ]);
  });

  it('is there already where version 0.1 kept it, without saying whose it is', async () => {
    const { memory, reject } = stage();
    memory.put(row({ jobId: 'bad:m1', status: 'failed' }));
    expect(await reject('m1')).toEqual({ outcome: 'written', row: 'bad:m1' });
    expect(memory.rows()).toHaveLength(1);
  });

  it('is not stopped by a row that refused it and was gone a moment later', async () => {
    const { reject } = stage({ apply: async () => ({ applied: false, row: undefined }) });
    expect(await reject('m1', 'j1')).toEqual({ outcome: 'written', row: 'bad:m1' });
  });

  it('is read by the id that it named, where no job has that', async () => {
    const { store, reject } = stage();
    expect(await store.read('j1')).toBeUndefined();
    await reject('m1', 'j1');
    expect(await store.read('j1')).toMatchObject({ jobId: 'bad:j1' });
    expect(await store.read('bad:j1')).toMatchObject({ jobId: 'bad:j1' });
    expect(await store.read('bad:j2')).toBeUndefined();
    await store.claim({ job: newJob('j1'), owner: 'w/1' });
    expect(await store.read('j1')).toMatchObject({ jobId: 'j1', status: 'running' });
  });

  it('is not looked for under the name of what is no job', async () => {
    const { memory, store } = stage();
    memory.put(row({ jobId: 'bad:bad:j1', status: 'failed' }));
    expect(await store.read('bad:j1')).toBeUndefined();
  });
});
