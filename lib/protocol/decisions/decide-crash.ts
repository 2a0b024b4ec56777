import type { Settings } from '../../settings/settings.ts';
import type { Budgets, ClaimCounts } from '../job.ts';

/** What a crash does to a job's budgets. */
export type CrashVerdict =
  | { readonly kind: 'again'; readonly crashes: number; readonly releases: number }
  | {
      readonly kind: 'fail';
      /** The job kept killing its workers, as opposed to having spent its attempts on errors as well. */
      readonly quarantined: boolean;
      readonly crashes: number;
      readonly releases: number;
      /** Why, where the crash itself does not say it. */
      readonly reason?: string;
    };

/** Charges a crash to the job, or, where that would be unjust, counts it as a release, of which there may be many more. */
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
  const quarantined = crashes >= job.maxCrashes;
  if (quarantined || job.errors + crashes >= job.maxAttempts)
    return { kind: 'fail', quarantined, crashes, releases };
  if (releases > context.settings.maxReleases)
    return { kind: 'fail', quarantined: false, crashes, releases, reason: tooManyReleases(releases) };
  return { kind: 'again', crashes, releases };
}

/** `lastError` of a job that was released more often than is allowed. */
export const tooManyReleases = (releases: number): string =>
  `released ${releases} times without finishing; make each run do more, or raise 'maxReleases'`;
