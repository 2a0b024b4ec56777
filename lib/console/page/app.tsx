import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Help } from './help.tsx';
import { Mark } from './icons.tsx';
import { JobListView } from './job-list.tsx';
import type { Filter, StatusFilter } from './job-order.ts';
import { JobPage } from './job-page.tsx';
import { Plots } from './plots.tsx';
import { state, useTopic } from './state.ts';
import { ThemeButton } from './theme.tsx';
import { Workers } from './workers.tsx';

const filters: readonly StatusFilter[] = ['all', 'running', 'pending', 'done', 'failed', 'cancelled'];
const views = ['jobs', 'workers', 'plots'] as const;

/** The job that the address names; its id may be anything, so it is only ever shown as text. */
function jobInAddress(): string | undefined {
  const [, id] = /^#\/jobs\/(.+)$/.exec(location.hash) ?? [];
  if (id === undefined) return undefined;
  try {
    return decodeURIComponent(id);
  } catch {
    return undefined;
  }
}

export const openJob = (jobId: string): void => {
  location.hash = `#/jobs/${encodeURIComponent(jobId)}`;
};
const closeJob = () => {
  location.hash = '#/';
};

/** The job in the address, followed as it changes. */
function useJobInAddress(onChange: () => void): string | undefined {
  const [jobId, setJobId] = useState(jobInAddress);
  useEffect(() => {
    const follow = () => {
      setJobId(jobInAddress());
      onChange();
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return jobId;
}

interface Keys {
  readonly help: RefObject<HTMLDialogElement | null>;
  readonly search: RefObject<HTMLInputElement | null>;
  readonly onStatus: (status: StatusFilter) => void;
}

/** What the keyboard does anywhere on the page; `help.tsx` lists it. */
function useKeys({ help, search, onStatus }: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || help.current?.open) return;
      const field = event.target instanceof HTMLInputElement ? event.target : undefined;
      if (event.key === 'Escape') {
        if (field !== undefined) field.blur();
        else if (jobInAddress() !== undefined) closeJob();
        return;
      }
      if (field !== undefined) return;
      if (event.key === '?') help.current?.showModal();
      else if (event.key === '/') {
        event.preventDefault();
        closeJob();
        setTimeout(() => search.current?.focus());
      } else if (/^[1-6]$/.test(event.key)) {
        closeJob();
        onStatus(filters[Number(event.key) - 1] ?? 'all');
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

export function App({ hasToken }: { readonly hasToken: boolean }) {
  useTopic('connection');
  const [filter, setFilter] = useState<Filter>({ status: 'all', search: '' });
  const [view, setView] = useState<(typeof views)[number]>('jobs');
  const help = useRef<HTMLDialogElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const jobId = useJobInAddress(() => setView('jobs'));
  useKeys({ help, search, onStatus: (status) => setFilter((before) => ({ ...before, status })) });

  if (!hasToken || state.connection === 'lost') return <Locked hasToken={hasToken} />;
  return (
    <>
      <Header onHelp={() => help.current?.showModal()} />
      <nav class="views" aria-label="Parts of the page">
        {views.map((name) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name)}>
            {name}
          </button>
        ))}
      </nav>
      <main class="layout">
        <div class="main-column" data-view={view}>
          {jobId === undefined ? (
            <JobListView filter={filter} filters={filters} onFilter={setFilter} searchRef={search} />
          ) : (
            <JobPage key={jobId} jobId={jobId} onBack={closeJob} />
          )}
        </div>
        <aside class="side-column" data-view={view}>
          <Workers isChosen={view === 'workers'} />
          <Plots isChosen={view === 'plots'} />
        </aside>
      </main>
      <Toasts />
      <Help dialog={help} />
    </>
  );
}

function Header({ onHelp }: { readonly onHelp: () => void }) {
  const { hello, connection } = state;
  return (
    <header class="top">
      <a class="brand" href="#/">
        <Mark />
        <h1>Leasehold</h1>
      </a>
      <span class="where">
        {hello !== undefined && (
          <>
            <span class="where-table">{hello.tableName}</span>
            <span class="tag">{hello.mode === 'local' ? 'on this machine' : 'AWS account'}</span>
            {!hello.writable && <span class="tag">read only</span>}
          </>
        )}
      </span>
      <span class="connection" data-state={connection} role="status">
        {connection === 'live' ? 'live' : 'connecting…'}
      </span>
      <button type="button" class="icon-button" onClick={onHelp} title="Keys (?)">
        <span aria-hidden="true">?</span>
        <span class="visually-hidden">Keys</span>
      </button>
      <ThemeButton />
    </header>
  );
}

function Locked({ hasToken }: { readonly hasToken: boolean }) {
  return (
    <main class="locked">
      <Mark />
      <h1>{hasToken ? 'The console has stopped' : 'This page needs its token'}</h1>
      <p>
        {hasToken
          ? 'It was stopped, or started again with another token. Open the link that the terminal shows now.'
          : 'Open the link that was printed in the terminal: it contains a token, so that no other page can act here.'}
      </p>
    </main>
  );
}

function Toasts() {
  useTopic('toasts');
  return (
    <div class="toasts" aria-live="polite">
      {state.toasts.map(({ key, reply }) => (
        <p key={key} class="toast" data-ok={reply.ok}>
          {reply.message}
        </p>
      ))}
    </div>
  );
}
