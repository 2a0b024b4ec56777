import { useEffect, useState } from 'preact/hooks';
import type { JobAction, JobDetail } from '../protocol.ts';
import { actOnJob, fetchJob } from './api.ts';
import { Attempts } from './attempts.tsx';
import { dateAndTime, duration, pretty } from './format.ts';
import { BackIcon } from './icons.tsx';
import { Progress } from './job-row.tsx';
import { LeaseBar } from './lease-bar.tsx';
import { listen, state, toast, useNow } from './store.ts';
import { Timeline } from './timeline.tsx';
import { whatNext } from './what-next.ts';

/** A job that changes many times a second is fetched no more often than this. */
const REFETCH_MS = 250;

/** The job as the server knows it, fetched anew whenever the stream says that it changed. */
function useJob(jobId: string): JobDetail | 'absent' | undefined {
  const [detail, setDetail] = useState<JobDetail | 'absent'>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    const load = async () => {
      const found = await fetchJob(jobId).catch(() => undefined);
      if (!isLeft) setDetail(found ?? 'absent');
    };
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void load();
      }, REFETCH_MS);
    };
    void load();
    const unlisten = listen('jobs', (changed) => {
      if (changed.size === 0 || changed.has(jobId)) soon();
    });
    return () => {
      isLeft = true;
      clearTimeout(timer);
      unlisten();
    };
  }, [jobId]);
  return detail;
}

export function JobPage({ jobId, onBack }: { readonly jobId: string; readonly onBack: () => void }) {
  const detail = useJob(jobId);
  const now = useNow(500);
  return (
    <article class="panel job" aria-labelledby="job-title">
      <header class="job-head">
        <button type="button" class="icon-button" onClick={onBack} title="Back to the list (Esc)">
          <BackIcon />
          <span class="visually-hidden">Back to the list</span>
        </button>
        <h2 id="job-title" class="id">
          {jobId}
        </h2>
        {typeof detail === 'object' && <Actions detail={detail} />}
      </header>
      {detail === 'absent' && <p class="empty">There is no such job, or its row has expired.</p>}
      {typeof detail === 'object' && <Detail detail={detail} now={now} />}
    </article>
  );
}

function Detail({ detail, now }: { readonly detail: JobDetail; readonly now: number }) {
  const { job } = detail;
  return (
    <div class="job-body">
      <div class="status-line" data-status={job.status}>
        <span class="state big">
          <i class="dot" data-status={job.status} />
          {job.status}
        </span>
        {job.status === 'running' && <LeaseBar job={job} now={now} />}
        {job.status === 'running' && job.progress !== undefined && <Progress fraction={job.progress} />}
        <p class="next">{whatNext(detail, now)}</p>
      </div>
      <Attempts detail={detail} now={now} />
      <dl class="facts">
        <Fact name="type">{job.type}</Fact>
        <Fact name="attempt">{job.attempt}</Fact>
        <Fact name="errors and crashes">
          {job.errors + job.crashes} of {detail.maxAttempts}
        </Fact>
        <Fact name="crashes">
          {job.crashes} of {detail.maxCrashes}
        </Fact>
        <Fact name="releases">{job.releases}</Fact>
        <Fact name="lease">{duration(detail.leaseMs)}</Fact>
        <Fact name="created">{dateAndTime(detail.createdAt)}</Fact>
        {job.finishedAt !== undefined && (
          <Fact name="took">{duration(job.finishedAt - detail.createdAt)} from creation to end</Fact>
        )}
        {job.leaseOwner !== undefined && (
          <Fact name={job.status === 'running' ? 'owner' : 'last owner'}>
            <code>{job.leaseOwner}</code>
          </Fact>
        )}
      </dl>
      <Timeline moments={detail.timeline} />
      <Text name="Last error" text={detail.lastError} />
      <Text name="Payload" text={detail.payload} />
      <Text name="Checkpoint" text={detail.checkpoint} />
      <Text name="Progress" text={detail.progress} />
      <Text name="Result" text={detail.result} />
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Text from outside, shown as text and nothing else. */
function Text({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined || text === '') return null;
  return (
    <section class="text">
      <h3>{name}</h3>
      {/* Long texts scroll, and a region that scrolls must be reached by the keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <pre tabIndex={0}>{pretty(text)}</pre>
    </section>
  );
}

const verbs: Readonly<Record<JobDetail['job']['status'], readonly JobAction[]>> = {
  pending: ['cancel'],
  running: ['takeBack', 'cancel'],
  done: [],
  failed: ['retry'],
  cancelled: ['revive'],
};
const says: Readonly<Record<JobAction, string>> = {
  cancel: 'End it; a running worker sees it with its next heartbeat',
  takeBack: 'Take it from its worker and give it to the next',
  retry: 'Run it again, with new budgets',
  revive: 'Run it after all',
};

function Actions({ detail }: { readonly detail: JobDetail }) {
  const { job } = detail;
  if (state.hello?.writable !== true) return null;
  const isBadMessage = job.jobId.startsWith('bad:');
  return (
    <span class="job-actions">
      {(isBadMessage ? [] : verbs[job.status]).map((action) => (
        <button
          key={action}
          type="button"
          class={action === 'cancel' ? 'button danger' : 'button'}
          title={says[action]}
          disabled={action === 'cancel' && job.cancelRequested === true}
          onClick={async () => toast(await actOnJob(job.jobId, action))}
        >
          {action}
        </button>
      ))}
    </span>
  );
}
