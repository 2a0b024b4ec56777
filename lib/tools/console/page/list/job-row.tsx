// biome-ignore-all lint/a11y/useSemanticElements: a table of which only the rows in sight are drawn, placed one by one
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and names its active row
import { counted, times } from '../../../inspect/counted.ts';
import { formatDuration } from '../../../inspect/format-duration.ts';
import type { JobSummary } from '../../page-messages.ts';
import { jobLink, openJob } from '../address.ts';
import { age, dateAndTime } from '../format.ts';
import { LeaseBar } from '../job/lease-bar.tsx';
import { lossOf, recoveryOf, situationOf } from '../job/situation.ts';
import { isOwnerGone, ownerName, state } from '../state.ts';
import { ranMs } from './job-order.ts';

interface JobRowProps {
  readonly id: string;
  readonly job: JobSummary;
  readonly now: number;
  readonly index: number;
  readonly top: number;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly onToggle: (isRange: boolean) => void;
}

export function JobRow(props: JobRowProps) {
  const { job, now } = props;
  const ran = ranMs(job, now);
  const onClick = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest('a, input, label') !== null) return;
    if (getSelection()?.type !== 'Range') openJob(job.jobId);
  };
  return (
    // The grid has the focus and its keys; the row itself only takes the mouse.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles Enter for its active row
    <div
      id={props.id}
      class="row"
      role="row"
      aria-rowindex={props.index}
      aria-selected={props.isChosen}
      data-active={props.isActive}
      data-status={job.status}
      data-job={job.jobId}
      style={{ transform: `translateY(${props.top}px)` }}
      onClick={onClick}
    >
      <Tick jobId={job.jobId} isChosen={props.isChosen} onToggle={props.onToggle} />
      <span role="gridcell" class="state" data-status={job.status}>
        <i class="dot" data-status={job.status} />
        {job.status}
      </span>
      <span role="gridcell" class="name">
        <a class="id" href={jobLink(job.jobId)} tabIndex={-1} title={job.jobId}>
          {job.jobId}
        </a>
        <span class="type">{job.type}</span>
      </span>
      <span role="gridcell" class="what">
        <What job={job} now={now} />
      </span>
      <Marks job={job} />
      <span role="gridcell" class="ran" title={ran === undefined ? undefined : 'The last attempt'}>
        {ran === undefined ? '' : formatDuration(ran)}
      </span>
      <span role="gridcell" class="when" title={dateAndTime(job.changedAt)}>
        {age(job.changedAt, now)}
      </span>
    </div>
  );
}

function Tick(props: Pick<JobRowProps, 'isChosen' | 'onToggle'> & { readonly jobId: string }) {
  return (
    <span role="gridcell" class="pick">
      <label>
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${props.jobId}`}
          checked={props.isChosen}
          onClick={(event) => props.onToggle(event.shiftKey)}
        />
      </label>
    </span>
  );
}

function What({ job, now }: { readonly job: JobSummary; readonly now: number }) {
  if (job.status !== 'running') {
    const isBad = job.status === 'failed';
    const text = situationOf(job, now, ownerName);
    return (
      <span class={isBad ? 'error-text' : 'muted'} title={text}>
        {text}
      </span>
    );
  }
  const loss = lossOf(job, now, isOwnerGone(job.leaseOwner), state.hello);
  if (loss !== undefined) return <span class="error-text">{loss}</span>;
  const recovery = recoveryOf(job);
  return (
    <>
      {recovery !== undefined && (
        <span class="recovery" title={recovery}>
          {recovery}
        </span>
      )}
      <span class="gauges">
        <LeaseBar job={job} now={now} />
        {job.progress !== undefined && <Progress fraction={job.progress} />}
      </span>
    </>
  );
}

export function Progress({ fraction }: { readonly fraction: number }) {
  const percent = Math.round(fraction * 100);
  return (
    <span class="progress" title="What the handler reported with its last progress or checkpoint">
      progress <b>{percent} %</b>
      <i style={{ width: `${percent}%` }} />
    </span>
  );
}

function Marks({ job }: { readonly job: JobSummary }) {
  return (
    <span role="gridcell" class="marks">
      {job.cancelRequested && job.status !== 'cancelled' && <span class="badge warn">cancelling</span>}
      {job.crashes > 0 && (
        <span
          class="badge bad"
          title={`${counted(job.crashes, 'attempt')} ended with the death of a process`}
        >
          {counted(job.crashes, 'crash', 'crashes')}
        </span>
      )}
      {job.errors > 0 && <span class="badge warn">{counted(job.errors, 'error')}</span>}
      {job.attempt > 0 && <span title={`Claimed ${times(job.attempt)}`}>{job.attempt}</span>}
    </span>
  );
}
