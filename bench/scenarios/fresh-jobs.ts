import { setTimeout as sleep } from 'node:timers/promises';
import type { Crew } from '../support/crew.ts';
import { quantile } from '../support/statistics.ts';
import type { System } from '../systems/system.ts';
import { job } from './scenario.ts';

/** How long fresh short jobs waited to be started, in ms; those that were not started are in no quantile. */
export interface FreshJobs {
  readonly started: number;
  readonly of: number;
  readonly medianMs: number;
  readonly p95Ms: number;
}

const FRESH_MS = 100;
/** The last one gets this long to start. */
const LAST_MS = 2000;

/** Sends short jobs one by one, evenly, and sees when each is started. */
export async function freshJobs(
  system: System,
  queue: string,
  crew: Crew,
  { seconds, perSecond }: { readonly seconds: number; readonly perSecond: number },
): Promise<FreshJobs> {
  const sent: { readonly id: string; readonly at: number }[] = [];
  for (let i = 0; i < seconds * perSecond; i += 1) {
    const fresh = job('sleep', FRESH_MS);
    sent.push({ id: fresh.id, at: Date.now() });
    await system.enqueue(queue, [fresh]);
    await sleep(1000 / perSecond);
  }
  await sleep(LAST_MS);
  const waits = sent
    .flatMap(({ id, at }) => {
      const start = crew.firstStart(id);
      return start === undefined ? [] : [start - at];
    })
    .sort((a, b) => a - b);
  return {
    ...{ started: waits.length, of: sent.length },
    ...{ medianMs: quantile(waits, 0.5), p95Ms: quantile(waits, 0.95) },
  };
}
