import type { Job } from '../protocol/job.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { System } from './system.ts';

/** The job, or an error that says where else to look. */
export async function readJob(system: System, jobId: string): Promise<Job> {
  const job = await system.store.read(jobId);
  if (job === undefined) throw new CliError(notThere(jobId, system), exitCodes.refused);
  return job;
}

export const notThere = (jobId: string, { found }: Pick<System, 'found'>): string =>
  `There is no job '${jobId}' in table ${found.tableName}. A message has no row before its first claim (see the queue with 'leasehold stats'), and a finished job is removed after its retention`;
