import type { Hint } from '../../lib/protocol/ports.ts';
import { keeping, of, removing, setting } from './alter-writes.ts';
import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';

const YEAR_MS = 365 * 24 * 3_600_000;
const LOST = /has neither row nor message|nobody has acted/;

/** Mistakes after which nobody finds a job any more. */
export const lossBugs: readonly PlantedBug[] = [
  {
    name: 'release forgets the index key',
    searchFrom: 1931,
    breaks: /pending, but leased to nobody/,
    alterWrite: of(['release'], removing('leaseUntil')),
    rates: { shutDown: 3 },
  },
  {
    name: 'reclaim leaves the job in the running shard',
    breaks: /pending, but in r/,
    alterWrite: of(['reclaim'], (write) => {
      const { leaseShard: _, ...set } = write.set;
      return { ...write, set };
    }),
  },
  {
    name: 'complete leaves the job in the index',
    breaks: /finished, but still in the lease index/,
    alterWrite: of(['complete'], keeping('leaseUntil')),
  },
  {
    name: 'revive leaves the row to expire',
    breaks: /pending, but with the marks of a finished job/,
    alterWrite: of(['revive'], keeping('expiresAt')),
    rates: { operatorRevives: 3, operatorCancels: 3 },
  },
  {
    name: 'revive forgets when the job was to run',
    breaks: /due earlier than it was to run/,
    alterWrite: of(['revive'], setting({ notBefore: 0 })),
    rates: { operatorRevives: 3, operatorCancels: 3 },
  },
  {
    name: 'hints are sent before the write, and the queue has no lease',
    breaks: LOST,
    alterWrite: of(['reclaim', 'redispatch'], (write) =>
      setting({ leaseUntil: Number(write.set.leaseUntil) + YEAR_MS })(write),
    ),
    alterReaper: ({ store, queue }) => ({
      queue: { ...queue, sendHints: async (hints) => ({ sent: hints.length, failed: [] }) },
      store: {
        ...store,
        async reapMany(verdicts) {
          await queue.sendHints(
            verdicts.flatMap(({ entry: { jobId }, action }): Hint[] =>
              'dispatch' in action ? [{ jobId, delaySeconds: 0 }] : [],
            ),
          );
          return store.reapMany(verdicts);
        },
      },
    }),
    rates: { ...QUIET, handlerKillsProcess: 12 },
  },
  {
    name: 'pending jobs are not swept',
    breaks: LOST,
    alterQuery: (request, page) => (request.partition.startsWith('q') ? { rows: [] } : page),
    rates: { ...QUIET, hintVanishes: 12, handlerThrows: 3 },
  },
  {
    name: 'pending jobs without the terms of their type are skipped by the reaper',
    breaks: LOST,
    alterQuery: (_, page) => ({ ...page, rows: page.rows.filter(({ leaseMs }) => leaseMs !== undefined) }),
    rates: { ...QUIET, deadLettered: 20, hintVanishes: 12 },
  },
  {
    name: 'a message is acknowledged before its job is claimed',
    breaks: LOST,
    alterWorker: ({ store, queue }) => ({
      store,
      queue: {
        ...queue,
        async receive(request) {
          const messages = await queue.receive(request);
          await queue.delete(messages);
          return messages;
        },
      },
    }),
    rates: { ...QUIET, diesAtAwait: 30 },
  },
  {
    name: 'a claim that got no answer counts as refused',
    breaks: LOST,
    alterWorker: ({ store, queue }) => ({
      queue,
      store: { ...store, claim: (request) => store.claim(request).catch(() => ({ outcome: 'absent' })) },
    }),
    rates: { ...QUIET, requestLost: 25 },
  },
];
