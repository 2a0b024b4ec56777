import { isDataPointer } from '../../lib/protocol/rows/data-pointer.ts';
import type { RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { of, setting, without } from './alter-writes.ts';
import type { PlantedBug } from './planted-bug.ts';

/** Checkpoints go to other slots than the store chose: to the same key for different ones. */
const withKeys =
  (changed: (key: string) => string) =>
  (write: RowWrite): RowWrite => {
    if (write.transition === 'putData') return { ...write, jobId: changed(write.jobId) };
    const pointer = write.set.checkpoint;
    if (write.transition !== 'checkpoint' || !isDataPointer(pointer)) return write;
    return setting({ checkpoint: { ...(pointer as object), in: changed(pointer.in) } })(write);
  };
const withSlots = (size: number) =>
  withKeys((key) => key.replace(/\.(\d)$/, (_, slot) => `.${Number(slot) % size}`));

/** What is kept beside the row: mistakes by which a job loses its data, or gets another's. */
export const dataBugs: readonly PlantedBug[] = [
  {
    name: 'a checkpoint’s data is overwritten in place',
    breaks: /was overwritten|points to other data/,
    alterWrite: withSlots(1),
  },
  {
    name: 'checkpoints take two slots in turn, also after a lost reply',
    searchFrom: 577,
    breaks: /was overwritten|points to other data/,
    alterWrite: withSlots(2),
    rates: { requestLost: 5 },
  },
  {
    name: 'an older checkpoint replaces a newer one in its slot',
    searchFrom: 506,
    breaks: /was overwritten|points to other data/,
    alterWrite: of(['putData'], (write) => ('seq' in write.set ? { ...write, when: [[]] } : write)),
    rates: { requestLate: 5 },
  },
  {
    name: 'claims share their slots, whatever the row points to',
    searchFrom: 4586,
    breaks: /was overwritten|points to other data/,
    alterWrite: withKeys((key) => key.replace(/\.\d\.(\d)$/, '.0.$1')),
    rates: { operatorTakesBack: 3 },
  },
  {
    name: 'a job takes the slots of one that was deleted, and had its id',
    searchFrom: 3864,
    breaks: /was overwritten|points to other data/,
    alterWrite: withKeys((key) => key.replace(/(c|g)\w+(\.\d\.\d)$/, '$1$2')),
    rates: { rowDeleted: 10, dataVanishes: 0 },
  },
  {
    name: 'the pointer to a checkpoint is written outside the fence',
    searchFrom: 137,
    breaks: /a stale write is visible/,
    alterWrite: of(['checkpoint'], (write) =>
      typeof write.set.checkpoint === 'object' ? without('leaseOwner', 'attempt')(write) : write,
    ),
    rates: { handlerIgnoresSignal: 5, operatorTakesBack: 3 },
  },
  {
    name: 'the pointer is written before its data, and the worker dies in between',
    breaks: /points to data that is not there/,
    alterWrite: of(['putData'], (write) => ({ ...write, when: [[{ attribute: 'jobId', is: 'present' }]] })),
  },
  {
    name: 'data expires under a live job',
    breaks: /expires before its row could/,
    alterWrite: of(['putData'], setting({ expiresAt: 1 })),
  },
  {
    name: 'a claim does not extend the life of its data',
    breaks: /data that a claim needs still expires soon/,
    alterWrite: of(['extendData'], setting({ expiresAt: 1 })),
    rates: { weeksPass: 9 },
  },
  {
    name: 'crashes are forgiven without progress',
    searchFrom: 155,
    breaks: /charged -|forgiven without progress/,
    alterWrite: of(['checkpoint'], setting({ crashes: 0 })),
    rates: { handlerKillsProcess: 5 },
  },
  {
    name: 'a failed row stays where sweeps read',
    breaks: /failed, but listed in/,
    alterWrite: of(['fail', 'quarantine'], setting({ leaseShard: 'r0' })),
  },
];
