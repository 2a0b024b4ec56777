import { counted } from '../../inspect/counted.ts';
import type { JobSummary } from '../page-messages.ts';
import { age } from './format.ts';
import { LeaseBar } from './lease-bar.tsx';
import { ownerName } from './state.ts';

/** One job in the list. */
export function JobRow(props: {
  readonly id: string;
  readonly job: JobSummary;
  readonly now: number;
  readonly top: number;
  readonly isActive: boolean;
  readonly onOpen: () => void;
}) {
  const { job, now } = props;
  return (
    // The listbox has the focus and its keys; the row itself only takes the mouse.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the listbox handles Enter for its active option
    // biome-ignore lint/a11y/useFocusableInteractive: options of a listbox are reached by aria-activedescendant
    <div
      id={props.id}
      class="row"
      role="option"
      aria-selected={props.isActive}
      data-status={job.status}
      data-job={job.jobId}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={props.onOpen}
    >
      <span class="state" data-status={job.status}>
        <i class="dot" data-status={job.status} />
        {job.status}
      </span>
      <span class="name">
        <b class="id">{job.jobId}</b>
        <span class="type">{job.type}</span>
      </span>
      <span class="what">
        <What job={job} now={now} />
      </span>
      <Marks job={job} />
      <span class="when" title={new Date(job.changedAt).toLocaleString()}>
        {age(job.changedAt, now)}
      </span>
    </div>
  );
}

function What({ job, now }: { readonly job: JobSummary; readonly now: number }) {
  switch (job.status) {
    case 'running':
      return (
        <>
          <LeaseBar job={job} now={now} />
          {job.progress !== undefined && <Progress fraction={job.progress} />}
        </>
      );
    case 'pending':
      return (
        <span class="muted">
          {job.notBefore !== undefined && job.notBefore > now
            ? `due ${age(job.notBefore, now)}`
            : 'waiting for a worker'}
        </span>
      );
    case 'failed':
      return <span class="error-text">{failureOf(job)}</span>;
    case 'done':
      return (
        <span class="muted">{job.leaseOwner === undefined ? '' : `by ${ownerName(job.leaseOwner)}`}</span>
      );
    case 'cancelled':
      return <span class="muted">by an operator</span>;
  }
}

/** For a job that only ever crashed, the number of crashes says more than its last error. */
const failureOf = (job: JobSummary): string =>
  job.crashes > 0 && job.errors === 0
    ? `killed ${counted(job.crashes, 'worker')}; quarantined`
    : (job.lastError ?? '');

export function Progress({ fraction }: { readonly fraction: number }) {
  const percent = Math.round(fraction * 100);
  return (
    <span class="progress" title={`Progress: ${percent} %`}>
      {percent} %
    </span>
  );
}

/** What a job has been through, where there is something to tell. */
function Marks({ job }: { readonly job: JobSummary }) {
  return (
    <span class="marks">
      {job.cancelRequested && job.status !== 'cancelled' && <span class="badge warn">cancelling</span>}
      {job.crashes > 0 && (
        <span class="badge bad" title={`${counted(job.crashes, 'worker')} died while running it`}>
          {counted(job.crashes, 'crash', 'crashes')}
        </span>
      )}
      {job.errors > 0 && <span class="badge warn">{counted(job.errors, 'error')}</span>}
      {job.attempt > 1 && (
        <span class="badge" title={`Claimed ${job.attempt} times`}>
          attempt {job.attempt}
        </span>
      )}
    </span>
  );
}
