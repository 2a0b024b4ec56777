import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';

/** Each verdict goes to the one before: the first of a batch is told what became of the second. */
const neighbours = <T>(verdicts: T[]): T[] => [...verdicts.slice(1), ...verdicts.slice(0, 1)];

/** Mistakes that could be made with many rows in one request. */
export const batchBugs: readonly PlantedBug[] = [
  {
    name: 'the verdict on a claim is taken for its neighbor’s',
    searchFrom: 176,
    breaks: /was accepted and has neither row nor message/,
    alterWorker: ({ store, queue }) => ({
      queue,
      store: {
        ...store,
        claimMany: async (requests) => neighbours(await store.claimMany(requests)),
      },
    }),
    rates: { ...QUIET, statementThrottled: 5, throttled: 2 },
    size: 'crowd',
  },
];
