import { expect, it } from 'vitest';
import { seedsFrom } from './seeds.ts';
import { simulateMany } from './simulate.ts';

/** What a network and a machine do to a request, and the requests of workers, reapers in processes and in a chain, and operators. */
const FAULTS = ['requestLost', 'replyLost', 'requestLate', 'throttled', 'dies'];
const REQUESTS = [
  ...['claim', 'schedule', 'heartbeat', 'checkpoint', 'complete', 'retry', 'restart', 'putData'],
  ...['reclaim', 'takeLead', 'extendLead', 'scheduleNext', 'requestCancel', 'takeBack', 'query', 'read'],
];

it('every kind of request meets every fault of network and machine, as the page on faults says', async () => {
  const met = new Set<string>();
  for (const [size, count] of [
    ['full', 4000],
    ['crowd', 300],
  ] as const)
    await simulateMany(seedsFrom(5000, count), { size }, ({ meetings, violation }) => {
      for (const meeting of meetings.keys()) met.add(meeting);
      return violation !== undefined;
    });
  const missed = REQUESTS.flatMap((request) => FAULTS.map((fault) => `${fault} ${request}`)).filter(
    (meeting) => !met.has(meeting),
  );
  expect(missed).toEqual([]);
});
