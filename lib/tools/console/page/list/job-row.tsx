// biome-ignore-all lint/a11y/useSemanticElements: on a phone a row is two lines, which a table row cannot be
// biome-ignore-all lint/a11y/useFocusableInteractive: its links, boxes and buttons have the focus
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
  readonly job: JobSummary;
  readonly now: number;
  readonly index: number;
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
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys reach the job by its link
    <div
      class="row"
      role="row"
      aria-rowindex={props.index}
      data-chosen={props.isChosen}
      data-status={job.status}
      data-job={job.jobId}
      onClick={onClick}
    >
      <Tick jobId={job.jobId} isChosen={props.isChosen} onToggle={props.onToggle} />
      <span role="cell" class="state" data-status={job.status}>
        <i class="dot" data-status={job.status} />
        {job.status}
      </span>
      <span role="cell" class="name">
        <a class="id" href={jobLink(job.jobId)} title={job.jobId}>
          {job.jobId}
        </a>
        <span class="type">{job.type}</span>
      </span>
      <span role="cell" class="what">
        <What job={job} now={now} />
      </span>
      <Marks job={job} />
      <span role="cell" class="ran" title={ran === undefined ? undefined : 'The last attempt'}>
        {ran === undefined ? '' : formatDuration(ran)}
      </span>
      <span role="cell" class="when" title={dateAndTime(job.changedAt)}>
        {age(job.changedAt, now)}
      </span>
    </div>
  );
}

function Tick(props: Pick<JobRowProps, 'isChosen' | 'onToggle'> & { readonly jobId: string }) {
  return (
    <span role="cell" class="pick">
      <label>
        <input
          type="checkbox"
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
    <span role="cell" class="marks">
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
