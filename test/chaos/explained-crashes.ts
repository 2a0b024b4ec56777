import type { Job } from '../../lib/protocol/job.ts';
import type { Evidence } from './evidence.ts';
import { pidOf } from './tell.ts';

/** Counts the crashes of a harmless job that the run itself has caused and nobody could tell from the job's own doing. */
export function explainedCrashes({ events, journal }: Pick<Evidence, 'events' | 'journal'>) {
  const pidsOf = (what: string) =>
    new Set(events.filter((event) => event.what === what).map(({ pid }) => pid));
  const killedHosts = pidsOf('host killed');
  const jobsByCell = new Map<number, Set<string>>();
  for (const { pid, jobId } of journal)
    jobsByCell.set(pid, (jobsByCell.get(pid) ?? new Set<string>()).add(jobId));
  const killedAloneWith = new Map<string, number>();
  for (const pid of pidsOf('cell killed')) {
    const [only, ...others] = jobsByCell.get(pid ?? 0) ?? [];
    if (only !== undefined && others.length === 0)
      killedAloneWith.set(only, (killedAloneWith.get(only) ?? 0) + 1);
  }
  return ({ jobId, claims }: Pick<Job, 'jobId' | 'claims'>): number => {
    const withHosts = claims.filter(
      ({ outcome, owner }) => outcome === 'lapsed' && killedHosts.has(pidOf(owner)),
    );
    // A cell that no other job was in: as if the job had killed it.
    return withHosts.length + (killedAloneWith.get(jobId) ?? 0);
  };
}
