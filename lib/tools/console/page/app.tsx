import { useEffect } from 'preact/hooks';
import { type Aside, backToList, goTo, usePlace } from './address.ts';
import { Banner, Header, titleOf } from './header.tsx';
import { Mark } from './icons.tsx';
import { JobPage } from './job/job-page.tsx';
import { JobListView } from './list/job-list.tsx';
import { Health } from './overview/health.tsx';
import { History } from './overview/history.tsx';
import { TypesView } from './overview/types.tsx';
import { Workers } from './overview/workers.tsx';
import { isCutOff, state, useTopic } from './state.ts';

const views = ['jobs', 'types', 'workers', 'history'] as const satisfies readonly (
  | 'jobs'
  | 'types'
  | Aside
)[];
type View = (typeof views)[number];

export function App({ hasToken }: { readonly hasToken: boolean }) {
  useTopic('connection');
  const place = usePlace();
  const aside = place.view === 'list' ? place.aside : undefined;
  useEffect(() => {
    if (place.view !== 'job') document.title = titleOf();
  }, [place]);

  if (!hasToken || (state.hello === undefined && state.connection === 'refused'))
    return <Locked hasToken={hasToken} />;
  const view: View = aside ?? (place.view === 'types' ? 'types' : 'jobs');
  const choose = (name: View) => {
    if (name !== 'jobs') goTo(`#/${name}`);
    else if (aside !== undefined || place.view === 'types') backToList();
  };
  return (
    <>
      <Header />
      <Banner />
      <Health />
      <nav class="views" aria-label="Parts of the page">
        {views.map((name) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => choose(name)}>
            {name}
          </button>
        ))}
      </nav>
      <main class="layout" data-cut-off={isCutOff()}>
        <div class="main-column" data-hidden={aside !== undefined}>
          {place.view === 'list' && <JobListView filter={place.filter} />}
          {place.view === 'job' && <JobPage key={place.jobId} jobId={place.jobId} />}
          {place.view === 'types' && <TypesView />}
        </div>
        <aside class="side-column" data-hidden={aside === undefined} aria-label="Workers and history">
          <Workers isChosen={aside === 'workers'} />
          <History isChosen={aside === 'history'} />
        </aside>
      </main>
      <Toasts />
    </>
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
