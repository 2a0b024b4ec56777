import type { Settings } from '../../settings/settings.ts';
import type { Budgets, ClaimCounts } from '../job.ts';

export type CrashVerdict =
  | { readonly kind: 'again'; readonly crashes: number; readonly releases: number }
  | {
      readonly kind: 'fail';
      /** Crashes alone, not errors, used up the budget. */
      readonly quarantined: boolean;
      readonly crashes: number;
      readonly releases: number;
      readonly reason?: string;
    };

/** Charges the crash to the job, or counts it as a release if the job is not to blame. */
export function decideCrash(
  job: ClaimCounts & Budgets,
  context: {
    readonly chargedTo: 'crashes' | 'releases';
    readonly settings: Pick<Settings, 'maxReleases'>;
  },
): CrashVerdict {
  const isCharged = context.chargedTo === 'crashes';
  const crashes = job.crashes + (isCharged ? 1 : 0);
  const releases = job.releases + (isCharged ? 0 : 1);
  const quarantined = crashes >= Math.min(job.maxCrashes, job.maxAttempts);
  if (quarantined || job.errors + crashes >= job.maxAttempts)
    return { kind: 'fail', quarantined, crashes, releases };
  if (releases > context.settings.maxReleases)
    return { kind: 'fail', quarantined: false, crashes, releases, reason: tooManyReleases(releases) };
  return { kind: 'again', crashes, releases };
}

export const tooManyReleases = (releases: number): string =>
  `released ${releases} times without finishing; make each run do more, or raise 'maxReleases'`;
