import type { Dispatch } from '../../protocol/decisions/dispatch.ts';
import type { EventOutlet } from '../../protocol/event-outlet.ts';
import type { RunningJob } from '../../protocol/job.ts';
import { eventDetailOf, namesType } from '../../wire/events.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { type HeldClaim, nameOf } from './held-claim.ts';

/** How a job failed for good. */
export interface FinalEnd {
  readonly errors: number;
  readonly crashes?: number;
  readonly releases?: number;
  readonly lastError: string;
  readonly quarantined?: boolean;
}

export type Announcements = ReturnType<typeof createAnnouncements>;

/** Tells of ends that are stored: counts them, and publishes their events. */
export function createAnnouncements(
  { clock, settings, telemetry }: Pick<WorkerParts, 'clock' | 'settings' | 'telemetry'>,
  outlet: Pick<EventOutlet, 'publish'>,
) {
  const detailOf = (job: RunningJob) => ({ ...eventDetailOf(job), at: clock.now() });
  return {
    done({ job, startedAt }: HeldClaim, late: boolean): void {
      telemetry.count('JobsDone');
      if (late) telemetry.count('LateCompletions');
      if (!namesType(settings.doneEvents, job.type)) return;
      const durationMs = Math.round(clock.monotonic() - startedAt);
      outlet.publish([{ name: 'JobDone', detail: { ...detailOf(job), durationMs } }]);
    },

    retried(
      { job }: HeldClaim,
      end: { readonly errors: number; readonly lastError: string },
      { notBefore }: Dispatch,
    ): void {
      telemetry.count('JobsRetried');
      outlet.publish([{ name: 'JobRetried', detail: { ...detailOf(job), ...end, notBefore } }]);
    },

    failed({ job }: HeldClaim, { quarantined = false, ...counts }: FinalEnd): void {
      telemetry.count('JobsFailed');
      if (quarantined) telemetry.count('JobsQuarantined');
      const { crashes = job.crashes, releases = job.releases } = counts;
      const detail = { ...detailOf(job), ...counts, crashes, releases };
      outlet.publish([{ name: 'JobFailed', detail }]);
      if (quarantined) outlet.publish([{ name: 'JobQuarantined', detail }]);
    },

    /** Of a job that the store failed when it was claimed. */
    lostItsData(job: RunningJob, error: Error): void {
      telemetry.error('job failed, because its data is gone', error, nameOf(job));
      telemetry.count('JobsFailed');
      outlet.publish([{ name: 'JobFailed', detail: { ...detailOf(job), lastError: error.message } }]);
    },

    cancelled({ job }: HeldClaim): void {
      telemetry.count('JobsCancelled');
      outlet.publish([{ name: 'JobCancelled', detail: detailOf(job) }]);
    },
  };
}
