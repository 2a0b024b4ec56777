import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../support/memory-store.ts';
import { row } from '../../support/rows.ts';

function stage() {
  const { memory, store } = memoryStore();
  const reject = (messageId: string, jobId?: string) =>
    store.reject({ messageId, jobId, reason: 'no JSON', text: '{', bytes: 1, sha256: 'ab' });
  const kept = () => memory.rows().map(({ jobId, messageId }) => [jobId, messageId]);
  return { memory, store, reject, kept };
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

  it('is not read under a name that is no job id', async () => {
    const { memory, store } = stage();
    memory.put(row({ jobId: 'bad:bad:j1', status: 'failed' }));
    expect(await store.read('bad:j1')).toBeUndefined();
  });
});
