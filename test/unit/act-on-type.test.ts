import { beforeEach, describe, expect, it } from 'vitest';
import { actOnType, type TypeAct } from '../../lib/client/act-on-type.ts';
import { type Control, createControlReader, parseControl } from '../../lib/protocol/limits/control.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { CONTROL_KEY, type Limit } from '../../lib/wire/limits.ts';

const clock = createFakeClock();
let table: ReturnType<typeof createMemoryTable>;
let sent: string[];

const declared: Control['types'] = new Map<string, Limit | undefined>([
  ['render', 4],
  ['sync', { perKey: 1 }],
  ['mail', undefined],
]);
const declare = (types: Control['types'] = declared) => createControlReader({ table, clock }).declare(types);
const act = (request: TypeAct) =>
  actOnType(
    {
      ...{ table, clock, by: 'operator' },
      queue: () => ({
        sendHints: async (hints) => {
          sent.push(...hints.map(({ jobId }) => jobId));
          return { sent: hints.length, failed: [] };
        },
      }),
    },
    request,
  );
const control = async () => parseControl(await table.read(CONTROL_KEY));

beforeEach(() => {
  table = createMemoryTable();
  sent = [];
});

describe('what workers declare', () => {
  it('is their types with the limits of the definitions', async () => {
    await declare();
    expect((await control()).types).toEqual(declared);
  });

  it('is written only where it changes, in as many writes as its size needs', async () => {
    const writes: string[] = [];
    const counted = {
      ...table,
      apply: (write: Parameters<typeof table.apply>[0]) => {
        writes.push(write.transition);
        return table.apply(write);
      },
    };
    const many: Control['types'] = new Map(Array.from({ length: 120 }, (_, i) => [`type-${i}`, undefined]));
    await createControlReader({ table: counted, clock }).declare(many);
    expect((await control()).types.size).toBe(120);
    expect(writes).toEqual(['control', 'openControl', 'control', 'control', 'control']);
    await createControlReader({ table: counted, clock }).declare(many);
    expect(writes).toHaveLength(5);
  });
});

describe('pause, resume and limit', () => {
  it.each<[what: string, TypeAct, RegExp]>([
    [
      'an unknown type',
      { act: 'pause', type: 'rendr' },
      /no handler for type 'rendr'.*'render'.*mail, render, sync/,
    ],
    ['the resume of an unknown type', { act: 'resume', type: 'x' }, /no handler for type 'x'/],
    ['an illegal type', { act: 'pause', type: 'a:b' }, /type is 'a:b'.*1 to 100 characters/],
    [
      'a limit of 0',
      { act: 'limit', type: 'render', limit: 0 },
      /limit is 0.*from 1 to 100; to run none, pause/,
    ],
    ['no number', { act: 'limit', type: 'render', limit: 'two' }, /limit is 'two'.*whole number/],
    [
      'the limit of a type without one',
      { act: 'limit', type: 'mail', limit: 2 },
      /type is 'mail'.*'limit' in its definition: render, sync\. Add one and deploy it, or pause/,
    ],
    ['an illegal key', { act: 'limit', type: 'sync', limit: 2, key: 'a b' }, /key is 'a b'.*1 to 100/],
    [
      'a key without a limit per key',
      { act: 'limit', type: 'render', limit: 2, key: 'a' },
      /key is 'a'.*left out/,
    ],
  ])('refuses %s, and changes nothing', async (_, request, message) => {
    await declare();
    const before = await control();
    await expect(act(request)).rejects.toThrow(message);
    expect(await control()).toEqual(before);
  });

  it('changes what the definitions allow', async () => {
    await declare();
    await act({ act: 'limit', type: 'render', limit: 1 });
    await act({ act: 'limit', type: 'sync', limit: 100, key: 'tenant-7' });
    await act({ act: 'limit', type: 'sync', limit: 3 });
    expect([...(await control()).limits]).toEqual([
      ['render', 1],
      ['sync:tenant-7', 100],
      ['sync', 3],
    ]);
  });

  it('undoes what was changed before a deployment removed the type or its limit', async () => {
    await act({ act: 'pause', type: 'old' });
    await act({ act: 'limit', type: 'old', limit: 2 });
    await declare();
    await act({ act: 'resume', type: 'old' });
    await act({ act: 'limit', type: 'old' });
    const { paused, limits } = await control();
    expect([paused.size, limits.size]).toEqual([0, 0]);
    await expect(act({ act: 'resume', type: 'old' })).rejects.toThrow(/no handler/);
  });
});
