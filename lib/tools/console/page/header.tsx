import type { Hello } from '../page-messages.ts';
import { placeNow } from './address.ts';
import { timeOfDay } from './format.ts';
import { Mark } from './icons.tsx';
import { state, useTopic } from './state.ts';

const words: Readonly<Record<typeof state.connection, string>> = {
  connecting: 'connecting…',
  live: 'live',
  lost: 'connection lost',
  refused: 'disconnected',
};

export function Header() {
  useTopic('connection');
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
            <span class="where-table" title={`Table ${hello.tableName}`}>
              {hello.where?.service ?? hello.tableName}
            </span>
            <span class="tag">{placeOf(hello)}</span>
            {!hello.writable && <span class="tag">read only</span>}
          </>
        )}
      </span>
      <span class="connection" data-state={connection} role="status">
        {words[connection]}
      </span>
    </header>
  );
}

const placeOf = ({ mode, where }: Hello): string =>
  mode === 'local'
    ? 'on this machine'
    : [where?.account ?? 'AWS account', where?.region].filter((each) => each !== undefined).join(' · ');

export function Banner() {
  useTopic('connection');
  useTopic('figures');
  const { connection, stoppedAt, figures } = state;
  const of = stoppedAt === undefined ? '' : ` What you see is from ${timeOfDay(stoppedAt)}.`;
  const why = cutOffBy(connection, figures?.problem);
  return why === undefined ? null : (
    <p class="banner" role="alert">
      <b>{why}</b>
      {of} Actions are off.
    </p>
  );
}

function cutOffBy(connection: typeof state.connection, problem: string | undefined): string | undefined {
  if (connection === 'lost') return 'Connection lost, trying again.';
  if (connection === 'refused')
    return 'The console was stopped, or started again with another token: open the link that the terminal shows now.';
  return problem === undefined ? undefined : `The table cannot be read: ${problem}`;
}

export function titleOf(status?: string): string {
  const place = placeNow();
  const name = state.hello?.tableName ?? 'jobs';
  if (place.view === 'job') return `${place.jobId}${status === undefined ? '' : ` · ${status}`} · Leasehold`;
  return place.view === 'types' ? `Types · ${name} · Leasehold` : `${name} · Leasehold`;
}
