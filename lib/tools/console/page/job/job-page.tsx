import { useEffect, useState } from 'preact/hooks';
import { BAD_MESSAGE_PREFIX } from '../../../../wire/table.ts';
import { SET_AT_FIRST_CLAIM } from '../../../inspect/facts.ts';
import { formatAge, formatDuration } from '../../../inspect/format-duration.ts';
import type { NextStep } from '../../../inspect/next-steps.ts';
import type { JobAction, JobDetail } from '../../page-messages.ts';
import { backToList, listLink } from '../address.ts';
import { fetchJob, postJobAction } from '../api.ts';
import { CopyButton } from '../copy.tsx';
import { dateAndTime, pretty } from '../format.ts';
import { titleOf } from '../header.tsx';
import { BackIcon } from '../icons.tsx';
import { ranMs } from '../list/job-order.ts';
import { Progress } from '../list/job-row.tsx';
import { isOwnerGone, listen, serverNow, state, toast, useCanAct, useNow, useTopic } from '../state.ts';
import { Attempts } from './attempts.tsx';
import { ErrorBlock } from './error-block.tsx';
import { LeaseBar } from './lease-bar.tsx';
import { failureWords, lossOf, recoveryOf } from './situation.ts';
import { Timeline } from './timeline.tsx';

const REFETCH_MS = 250;
/** Allows for the error of the server clock estimate. */
const AFTER_MOMENT_MS = 50;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function useJob(jobId: string) {
  const [detail, setDetail] = useState<JobDetail | string>();
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let refetch: ReturnType<typeof setTimeout> | undefined;
    let next: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    const load = async () => {
      refetch = undefined;
      const found = await fetchJob(jobId).catch(() => undefined);
      // Keeps the last data if the console does not answer; the banner shows its age.
      if (isLeft || found === undefined) return;
      setDetail(found);
      clearTimeout(next);
      const inMs = typeof found === 'string' ? Number.POSITIVE_INFINITY : untilNextMoment(found.next);
      if (inMs < LONGEST_TIMER_MS) next = setTimeout(load, inMs + AFTER_MOMENT_MS);
    };
    void load();
    const unlisten = listen('jobs', (changed) => {
      if (changed.size === 0 || changed.has(jobId)) refetch ??= setTimeout(load, REFETCH_MS);
    });
    return () => {
      isLeft = true;
      clearTimeout(refetch);
      clearTimeout(next);
      unlisten();
    };
  }, [jobId, asked]);
  return { detail, reload: () => setAsked((count) => count + 1) };
}

/** After this time the server describes the first step differently. */
const untilNextMoment = (steps: readonly NextStep[]): number =>
  Math.min(...steps.map(({ at = 0 }) => at - serverNow()).filter((ms) => ms > 0));

export function JobPage({ jobId }: { readonly jobId: string }) {
  const { detail, reload } = useJob(jobId);
  const now = useNow(500);
  useTopic('workers');
  const status = typeof detail === 'object' ? detail.job.status : undefined;
  useEffect(() => {
    document.title = titleOf(status);
  }, [jobId, status]);
  return (
    <article class="panel job" aria-labelledby="job-title">
      <header class="job-head">
        <button type="button" class="icon-button" onClick={backToList} title="Back to the list">
          <BackIcon />
          <span class="visually-hidden">Back to the list</span>
        </button>
        <h2 id="job-title" class="id">
          {jobId}
        </h2>
        <CopyButton text={jobId} what="the id" />
        {typeof detail === 'object' && <Actions detail={detail} onDone={reload} />}
      </header>
      {typeof detail === 'string' && <p class="empty">{detail}</p>}
      {typeof detail === 'object' && <Detail detail={detail} now={now} />}
    </article>
  );
}

const ofLimit = (limit: number | undefined) => limit !== undefined && ` of ${limit}`;

function Detail({ detail, now }: { readonly detail: JobDetail; readonly now: number }) {
  const { job } = detail;
  const isFailed = job.status === 'failed';
  const ran = ranMs(job, now);
  return (
    // Long pages scroll, and a region that scrolls must be reached by the keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <div class="job-body" tabIndex={0}>
      <Status detail={detail} now={now} />
      {isFailed && <ErrorBlock failure={detail.failure} text={detail.lastError ?? 'no error was kept'} />}
      {isFailed && <Next steps={detail.next.filter(({ what }) => what !== 'nothing')} now={now} />}
      <Attempts detail={detail} now={now} />
      {!isFailed && job.status !== 'done' && detail.lastError !== undefined && (
        <ErrorBlock text={detail.lastError} errorOf={detail.errorOf} />
      )}
      <dl class="facts">
        <Fact name="type">
          <a href={listLink({ type: job.type })}>{job.type}</a>
        </Fact>
        {job.key !== undefined && <Fact name="key">{job.key}</Fact>}
        {ran !== undefined && <Fact name="last attempt ran">{formatDuration(ran)}</Fact>}
        <Fact name="errors and crashes">
          {job.errors + job.crashes}
          {ofLimit(detail.maxAttempts)}
        </Fact>
        <Fact name="crashes">
          {job.crashes}
          {ofLimit(detail.maxCrashes)}
        </Fact>
        <Fact name="releases">{job.releases}</Fact>
        <Fact name="lease">
          {detail.leaseMs === undefined ? SET_AT_FIRST_CLAIM : formatDuration(detail.leaseMs)}
        </Fact>
        <Fact name="created">{dateAndTime(detail.createdAt)}</Fact>
        {job.finishedAt !== undefined && (
          <Fact name="took">{formatDuration(job.finishedAt - detail.createdAt)} from creation to finish</Fact>
        )}
        {job.leaseOwner !== undefined && (
          <Fact name={job.status === 'running' ? 'owner' : 'last owner'}>
            <code>{job.leaseOwner}</code>
          </Fact>
        )}
      </dl>
      <Text name="Payload" text={detail.payload} />
      <Text name="Checkpoint" text={detail.checkpoint} />
      <Text name="Progress" text={detail.progress} />
      <Text name="Result" text={detail.result} />
      <Timeline events={detail.timeline} />
    </div>
  );
}

function Status({ detail, now }: { readonly detail: JobDetail; readonly now: number }) {
  const { job, failure } = detail;
  const loss = lossOf(job, now, isOwnerGone(job.leaseOwner), state.hello);
  const recovery = recoveryOf(job);
  return (
    <div class="status-line" data-status={job.status}>
      <span class="state big">
        <i class="dot" data-status={job.status} />
        {job.status}
        {failure !== undefined && failure.kind !== 'other' && ` · ${failureWords[failure.kind]}`}
      </span>
      {loss !== undefined && <b class="error-text">{loss}</b>}
      {loss === undefined && recovery !== undefined && <b class="recovery">{recovery}</b>}
      {loss === undefined && job.status === 'running' && <LeaseBar job={job} now={now} />}
      {job.status === 'running' && job.progress !== undefined && <Progress fraction={job.progress} />}
      {job.status !== 'failed' && <Next steps={detail.next} now={now} />}
    </div>
  );
}

function Next({ steps, now }: { readonly steps: readonly NextStep[]; readonly now: number }) {
  return (
    <ol class="next" aria-label="What happens next">
      {steps.map(({ at, message }) => (
        <li key={message}>
          {at !== undefined && (
            <time dateTime={new Date(at).toISOString()} title={dateAndTime(at)}>
              {formatAge(at, now)}
            </time>
          )}
          {message}
        </li>
      ))}
    </ol>
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

function Text({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined || text === '') return null;
  return (
    <section class="text">
      <header>
        <h3>{name}</h3>
        <CopyButton text={text} what={`the ${name.toLowerCase()}`} />
      </header>
      {/* Keyboards must reach a region that scrolls. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <pre tabIndex={0}>{pretty(text)}</pre>
    </section>
  );
}

const verbs: Readonly<Record<JobDetail['job']['status'], readonly JobAction[]>> = {
  pending: ['cancel'],
  running: ['takeBack', 'cancel'],
  done: [],
  failed: ['revive'],
  cancelled: ['revive'],
};
const labels: Readonly<Record<JobAction, string>> = {
  cancel: 'cancel',
  takeBack: 'take back',
  revive: 'revive',
};
const titles: Readonly<Record<JobAction, string>> = {
  cancel: 'End it; the worker of a running job is asked to stop at its next heartbeat',
  takeBack: 'Take it back from its worker and give it to another',
  revive: 'Run it again, with new budgets',
};

function Actions({ detail, onDone }: { readonly detail: JobDetail; readonly onDone: () => void }) {
  const { job } = detail;
  const canAct = useCanAct();
  if (state.hello?.writable !== true) return null;
  const isBadMessage = job.jobId.startsWith(BAD_MESSAGE_PREFIX);
  return (
    <span class="job-actions">
      {(isBadMessage ? [] : verbs[job.status]).map((action) => (
        <button
          key={action}
          type="button"
          class={action === 'cancel' ? 'button danger' : 'button'}
          title={titles[action]}
          disabled={!canAct || (action === 'cancel' && job.cancelRequested === true)}
          onClick={async () => {
            toast(await postJobAction(job.jobId, action));
            onDone();
          }}
        >
          {labels[action]}
        </button>
      ))}
    </span>
  );
}
