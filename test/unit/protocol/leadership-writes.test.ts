import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createLeadership } from '../../../lib/protocol/store/leader-lease.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';

const KEY = 'leader:reaper';

function stage() {
  const memory = createMemoryTable();
  const writes: RowWrite[] = [];
  const table: Table = {
    ...memory,
    apply(write) {
      writes.push(write);
      return memory.apply(write);
    },
  };
  const clock = createHandClock(1_000);
  const reaper = (shards: number, by: Table = table) =>
    createLeadership({ table: by, clock, name: 'a', leaseMs: 15_000, shards });
  return { memory, writes, reaper };
}

const taken = (shards: number): RowWrite => ({
  transition: 'takeLead',
  jobId: KEY,
  when: [
    // Implied by the next, but it is by this clause that a write says that it may create its row.
    [{ attribute: 'jobId', is: 'absent' }],
    [{ attribute: 'leaderUntil', is: 'absent' }],
    [{ attribute: 'leaderUntil', is: 'atMost', value: 1_000 }],
    [{ attribute: 'leader', is: 'equal', value: 'a' }],
  ],
  set: { leader: 'a', leaderUntil: 16_000, ledAt: 1_000 },
  keep: { shards },
  sum: { term: { of: 'term', otherwise: 0, plus: 1 } },
  returns: 'row',
});

const isMine = [
  [
    { attribute: 'leader', is: 'equal', value: 'a' },
    { attribute: 'term', is: 'equal', value: 1 },
  ],
] as const;

describe('what a leader writes', () => {
  it('is one write for each thing that it does', async () => {
    const { writes, reaper } = stage();
    const leadership = reaper(8);
    await leadership.take();
    await leadership.extend(1);
    await leadership.release(1);
    expect(writes).toStrictEqual([
      taken(8),
      {
        transition: 'extendLead',
        jobId: KEY,
        when: isMine,
        set: { leaderUntil: 16_000, ledAt: 1_000 },
        returns: 'row',
      },
      { transition: 'releaseLead', jobId: KEY, when: isMine, set: { leaderUntil: 0 }, returns: 'nothing' },
    ]);
  });

  it('raises the shards only where its own are more', async () => {
    const { memory, writes, reaper } = stage();
    memory.put({ jobId: KEY, shards: 4 });
    for (const shards of [3, 4, 5]) await reaper(shards).take();
    expect(writes).toStrictEqual([
      taken(3),
      taken(4),
      taken(5),
      {
        transition: 'raiseShards',
        jobId: KEY,
        when: [[{ attribute: 'shards', is: 'below', value: 5 }]],
        set: { shards: 5 },
        returns: 'nothing',
      },
    ]);
  });

  it('may be refused by a row that is gone when it is looked at', async () => {
    const { memory, reaper } = stage();
    const gone: Table = { ...memory, apply: async () => ({ applied: false, row: undefined }) };
    expect(await reaper(8, gone).take()).toEqual({
      outcome: 'following',
      leader: 'unknown',
      leaderUntil: Number.NaN,
      shards: 8,
    });
    expect(await reaper(8, gone).extend(1)).toEqual({ outcome: 'lost' });
  });
});
