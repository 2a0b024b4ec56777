import { payloadOf } from '../../client/job-record.ts';
import { lookUp } from '../../client/look-up.ts';
import type { Job } from '../../protocol/job.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { System } from './system/system.ts';

export async function readJob(system: System, jobId: string): Promise<Job> {
  const job = await lookUp(system, jobId);
  if (job.status === 'unknown') throw new CliError(job.message, exitCodes.refused);
  return job;
}

export function wholeJob({ leaseShard: _, ...job }: Job) {
  return { ...job, payload: payloadOf(job) };
}
