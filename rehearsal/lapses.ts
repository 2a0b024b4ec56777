import { join } from 'node:path';
import type { Job, PastClaim, RunningJob } from '../lib/protocol/job.ts';
import { reclaimDelayBound, recoveryBound } from '../lib/settings/recovery-bound.ts';
import { defaultSettings } from '../lib/settings/settings.ts';
import { moduleExtension, packageFolder } from '../lib/this-package.ts';
import { resourceVariables } from '../lib/wire/environment.ts';
import type { Child, Children } from './children.ts';
import type { Counts } from './plan.ts';
import { distribution } from './results.ts';
import { type System, untilJob } from './system.ts';

const SOON_MS = 120_000;
/** Both bounds of docs/guarantees.md while each sweep begins as promised. @internal */
export const RECOVERY_MS = recoveryBound(defaultSettings).usualMs;
export const RECLAIM_DELAY_MS = reclaimDelayBound(defaultSettings);

const isRunning = (job: Job): job is RunningJob => job.status === 'running';
const hasLapsed = (job: Job): job is Job => lapseOf(job) !== undefined;
const lapseOf = ({ claims }: Job): PastClaim | undefined =>
  claims.find(({ outcome }) => outcome === 'lapsed');

export interface Lapses {
  readonly jobIds: readonly string[];
  readonly delays: readonly number[];
  readonly recoveries: readonly number[];
}

interface Parts {
  readonly system: System;
  readonly children: Children;
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Kills `leasehold work` with jobs in it, over and over, and takes the times of the reclaims from the rows. */
export async function makeLapses(parts: Parts, { rounds, held }: Counts): Promise<Lapses> {
  const all = { jobIds: [] as string[], delays: [] as number[], recoveries: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const jobIds = Array.from({ length: held }, (_, n) => `held-${round}-${n}`);
    const { died, leaseEnds } = await killWorkerWith(jobIds, parts);
    for (const [n, jobId] of jobIds.entries()) {
      const job = await untilJob(parts.system, jobId, hasLapsed, { ...parts, withinMs: SOON_MS });
      const reclaimedAt = lapseOf(job)?.to ?? 0;
      all.delays.push(reclaimedAt - (leaseEnds[n] ?? 0));
      all.recoveries.push(reclaimedAt - died);
    }
    all.jobIds.push(...jobIds);
  }
  return all;
}

async function killWorkerWith(jobIds: readonly string[], parts: Parts) {
  const { system, signal } = parts;
  const worker = startWorker(parts, jobIds.length);
  const failed = worker.ended.then((code) => {
    throw new Error(`leasehold work ended with ${code}:\n${worker.output().slice(-2000)}`);
  });
  failed.catch(() => {});
  const sent = await system.producer.sendMany(jobIds.map((jobId) => ({ type: 'hold', options: { jobId } })));
  const refused = sent.find(({ outcome }) => outcome === 'failed');
  if (refused !== undefined) throw new Error(`a job was not sent: ${JSON.stringify(refused)}`);
  for (const jobId of jobIds)
    await Promise.race([failed, untilJob(system, jobId, isRunning, { signal, withinMs: SOON_MS })]);
  const died = Date.now();
  await worker.kill();
  // Read after the death: no heartbeat moves them any more.
  const leaseEnds = await Promise.all(
    jobIds.map(async (jobId) => {
      const job = await system.store.read(jobId);
      if (job?.status !== 'running')
        throw new Error(`job ${jobId} is ${job?.status}, and its worker just died`);
      return job.leaseUntil;
    }),
  );
  return { died, leaseEnds };
}

function startWorker({ system, children, folder }: Parts, concurrency: number): Child {
  const { TableName, ProcessQueueUrl, ServiceName } = system.outputs;
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('LEASEHOLD_'));
  return children.start(
    process.execPath,
    [
      join(packageFolder, 'bin', `leasehold${moduleExtension}`),
      ...['work', join(import.meta.dirname, `jobs${moduleExtension}`)],
      ...['--cells', '1', '--concurrency', String(concurrency)],
    ],
    {
      cwd: folder,
      env: {
        ...Object.fromEntries(own),
        [resourceVariables.tableName]: TableName,
        [resourceVariables.queueUrl]: ProcessQueueUrl,
        [resourceVariables.serviceName]: ServiceName,
        [resourceVariables.eventBusName]: 'default',
      },
    },
  );
}

export function judgeLapses({ delays, recoveries }: Lapses): string[] {
  const notes = [
    distribution("from a worker's death to the reclaim", recoveries, RECOVERY_MS),
    distribution('from the end of a lease to the reclaim', delays, RECLAIM_DELAY_MS),
  ];
  if (Math.max(...recoveries) > RECOVERY_MS || Math.max(...delays) > RECLAIM_DELAY_MS)
    throw new Error(`a reclaim came later than promised. ${notes.join('. ')}`);
  return notes;
}
