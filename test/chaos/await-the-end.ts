import { setTimeout as sleep } from 'node:timers/promises';
import { lapsesAt } from '../../lib/protocol/decisions/decide-reap.ts';
import type { LeaseEntry } from '../../lib/protocol/job.ts';
import { allShards } from '../../lib/protocol/shards.ts';
import { allLeases } from '../../lib/protocol/store/all-leases.ts';
import type { ChaosSystem } from './chaos-system.ts';

/** In calm, something must change this often for as long as there is anything left to do. */
const LONGEST_SILENCE_MS = 60_000;
/** What a busy machine adds to every wait: so much at least, and so many times the slowest look at the table. */
const SLACK_MS = 8000;
const SLACK_LOOKS = 10;

/** The unfinished jobs as the index has them. */
export async function indexOf({ table, settings }: ChaosSystem): Promise<readonly LeaseEntry[]> {
  const { running, pending } = allShards(settings.shards);
  const entries: LeaseEntry[] = [];
  for await (const { entry } of allLeases(table, { shards: [...running, ...pending], pageSize: 100 }))
    if (entry !== undefined) entries.push(entry);
  return entries;
}

/** Waits until every job is finished, or nothing moves any more; returns those whose lapsed lease nobody took back in time. */
export async function awaitTheEnd(
  system: ChaosSystem,
  accepted: readonly string[],
): Promise<readonly string[]> {
  const { settings } = system;
  const boundMs = 2 * settings.reaperIntervalMs + SLACK_MS;
  const calmSince = Date.now();
  const overdue = new Map<string, number>();
  let slowestMs = 0;
  let changes = { seen: '', at: calmSince };
  while (Date.now() < changes.at + LONGEST_SILENCE_MS) {
    await sleep(200);
    const began = Date.now();
    const index = await indexOf(system);
    // Reading all rows takes long; as long as jobs are in the index, it tells enough.
    const rows = index.length > 0 ? [] : await system.rows();
    slowestMs = Math.max(slowestMs, Date.now() - began);
    for (const entry of index) {
      const lateMs = began - Math.max(calmSince, lapsesAt(entry, settings)) - boundMs;
      overdue.set(entry.jobId, Math.max(lateMs, overdue.get(entry.jobId) ?? 0));
    }
    const seen = [
      rows.length,
      ...index.map((entry) => `${entry.jobId} ${entry.attempt} ${entry.leaseUntil}`),
    ].join();
    if (seen !== changes.seen) changes = { seen, at: Date.now() };
    if (index.length === 0 && rows.length >= accepted.length) break;
  }
  return [...overdue].filter(([, lateMs]) => lateMs > slowestMs * SLACK_LOOKS).map(([jobId]) => jobId);
}
