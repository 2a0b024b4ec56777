import type { RunningEntry } from '../../protocol/job.ts';
import { allShards } from '../../protocol/shards.ts';
import { allLeases } from '../../protocol/store/all-leases.ts';
import { counted } from '../inspect/counted.ts';
import { formatAge } from '../inspect/format-duration.ts';
import { type LeaseHolder, leaseHolders } from '../inspect/lease-holders.ts';
import { shortWorkerOf } from '../inspect/worker-name.ts';
import type { System } from './system/system.ts';
import type { Output } from './terminal/output.ts';

const PAGE = 500;
const NAMED = 3;
const MOST_LEASES = 20_000;

export async function listWorkers(system: System, output: Output, now: number): Promise<void> {
  const { entries, isCut } = await readRunning(system);
  const views = leaseHolders(entries, now, system.settings);
  output.json({ workers: views, leasesRead: entries.length, isCut });
  show(output, views, now);
  if (isCut) output.note(`Only the first ${counted(entries.length, 'lease')} were read.`);
}

async function readRunning(system: System): Promise<{ entries: RunningEntry[]; isCut: boolean }> {
  const entries: RunningEntry[] = [];
  const shards = allShards(system.settings.shards).running;
  for await (const found of allLeases(system.table, { shards, pageSize: PAGE })) {
    if (found.entry?.status !== 'running') continue;
    if (entries.length === MOST_LEASES) return { entries, isCut: true };
    entries.push(found.entry);
  }
  return { entries, isCut: false };
}

function holdsOf(jobs: LeaseHolder['jobs']): string {
  const named = jobs
    .toSorted((a, b) => Number(b.isLapsed) - Number(a.isLapsed))
    .slice(0, NAMED)
    .map(({ jobId, isLapsed }) => (isLapsed ? `${jobId} (ended)` : jobId));
  return named.join(', ') + (jobs.length > named.length ? `, +${jobs.length - named.length}` : '');
}

function show(output: Output, views: readonly LeaseHolder[], now: number): void {
  const { colors } = output;
  const isWide = output.width === Number.POSITIVE_INFINITY;
  if (views.length > 0)
    output.table({
      columns: [
        { title: 'WORKER', min: 22, cut: 'middle' },
        'STATE',
        'LAST BEAT',
        { title: 'JOBS', right: true },
        { title: 'HOLDS', min: 16 },
      ],
      rows: views.map(({ worker, state, lastHeartbeatAt, jobs }) => [
        isWide ? worker : shortWorkerOf(`${worker}/`),
        [state, state === 'live' ? colors.green : colors.red],
        formatAge(lastHeartbeatAt, now),
        String(jobs.length),
        [holdsOf(jobs), jobs.some((job) => job.isLapsed) ? colors.red : String],
      ]),
    });
  output.line(
    colors.dim(
      `${counted(views.length, 'worker')} with jobs; a worker without jobs leaves no trace in the table`,
    ),
  );
}
