import type { JsonValue } from '../../lib/wire/message.ts';
import { of, setting, without } from './alter-writes.ts';
import type { PlantedBug } from './planted-bug.ts';

type Change = (pointer: Readonly<Record<string, JsonValue>>) => JsonValue;

const changed = (
  attributes: Readonly<Record<string, JsonValue>> | undefined,
  name: string,
  change: Change,
) => {
  const pointer = attributes?.[name];
  return typeof pointer === 'object' && pointer !== null && 'in' in pointer
    ? { ...attributes, [name]: change(pointer as Readonly<Record<string, JsonValue>>) }
    : (attributes ?? {});
};

const inOnePlace = (place: string): string => place.replace(/\.1$/, '.0');

/** What is kept beside the row: mistakes by which a job loses its data, or gets another's. */
export const dataBugs: readonly PlantedBug[] = [
  {
    name: 'a checkpoint’s data is overwritten in place',
    breaks: /was overwritten|points to other data/,
    alterWrite: (write) =>
      of(['replaceData'], (each) => ({ ...each, jobId: inOnePlace(each.jobId) }))(
        of(['checkpoint'], (each) => ({
          ...each,
          set: changed(each.set, 'checkpoint', (pointer) => ({
            ...pointer,
            in: inOnePlace(String(pointer.in)),
          })),
        }))(write),
      ),
  },
  {
    name: 'the pointer to a checkpoint is written outside the fence',
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
    alterWrite: of(['claim', 'schedule'], (write) => {
      const soon: Change = (pointer) => ({ ...pointer, until: 1 });
      return {
        ...write,
        set: changed(write.set, 'payload', soon),
        keep: changed(write.keep, 'payload', soon),
      };
    }),
  },
  {
    name: 'data expires before its pointer says so',
    breaks: /failed with budget left: MissingDataError/,
    alterWrite: of(['putData', 'replaceData'], (write) => ({
      ...write,
      set: { ...write.set, expiresAt: Number(write.set.expiresAt) - 44 * 86_400 },
    })),
    rates: { weeksPass: 9, dataVanishes: 0 },
  },
  {
    name: 'crashes are forgiven without progress',
    breaks: /charged -|forgiven without progress/,
    alterWrite: of(['checkpoint'], setting({ crashes: 0 })),
    rates: { handlerKillsProcess: 5 },
  },
  {
    name: 'a failed row stays where sweeps read',
    breaks: /failed, but listed in/,
    alterWrite: of(['fail', 'quarantine', 'failLapsed'], setting({ leaseShard: 'r0' })),
  },
];
