import {
  type ActionReply,
  type JobAction,
  type JobDetail,
  type JobFilter,
  type MatchingReply,
  TOKEN_HEADER,
  TOKEN_PARAMETER,
  type Trend,
  type TrendSpan,
  type TypeAction,
  type WorkerAction,
} from '../page-messages.ts';

const KEY = 'leasehold-token';

/** Moves the token from the printed link to this origin's storage, so that a link to a job works in a new tab. */
export function takeToken(): string | undefined {
  const [, given] = new RegExp(`^#${TOKEN_PARAMETER}=([\\w-]+)$`).exec(location.hash) ?? [];
  if (given !== undefined) {
    localStorage.setItem(KEY, given);
    history.replaceState(null, '', `${location.pathname}#/`);
  }
  return localStorage.getItem(KEY) ?? undefined;
}

const headers = () => ({ [TOKEN_HEADER]: localStorage.getItem(KEY) ?? '' });

/** An event source cannot set headers. */
export const streamUrl = (token: string): string =>
  `/api/stream?${TOKEN_PARAMETER}=${encodeURIComponent(token)}`;

export async function fetchJob(jobId: string): Promise<JobDetail | string> {
  const reply = await fetch(`/api/jobs/${encodeURIComponent(jobId)}`, { headers: headers() });
  return reply.ok ? ((await reply.json()) as JobDetail) : ((await reply.json()) as ActionReply).message;
}

const NO_ANSWER: ActionReply = {
  ok: false,
  message: 'The console does not answer. Is it still running?',
};

async function post(path: string, body?: object): Promise<ActionReply> {
  try {
    const reply = await fetch(path, {
      method: 'POST',
      headers: headers(),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return (await reply.json()) as ActionReply;
  } catch {
    return NO_ANSWER;
  }
}

export const postJobAction = (jobId: string, action: JobAction): Promise<ActionReply> =>
  post(`/api/jobs/${encodeURIComponent(jobId)}/${action}`);

/** Without a limit, the definition's counts again. */
export const postTypeAction = (type: string, action: TypeAction, limit?: number): Promise<ActionReply> =>
  post(`/api/types/${encodeURIComponent(type)}/${action}`, { limit });

export const postWorkerAction = (pid: number, action: WorkerAction): Promise<ActionReply> =>
  post(`/api/workers/${pid}/${action}`);

export const postKillCell = (pid: number): Promise<ActionReply> => post(`/api/cells/${pid}/kill`);

export const postRows = (jobIds: readonly string[]): Promise<ActionReply> => post('/api/rows', { jobIds });

/** Asked for page by page, as they are acted on. */
export async function* matchingIds({ status, search, type, error, since }: JobFilter) {
  let cursor: string | undefined;
  do {
    const body = { status, search, type, error, since, cursor };
    const reply: MatchingReply = await post('/api/matching', body);
    if (!reply.ok) throw new Error(reply.message);
    yield* reply.jobIds ?? [];
    ({ cursor } = reply);
  } while (cursor !== undefined);
}

export async function fetchTrend(span: TrendSpan): Promise<Trend | undefined> {
  const reply = await fetch(`/api/trend/${span}`, { headers: headers() }).catch(() => undefined);
  return reply?.ok ? ((await reply.json()) as Trend) : undefined;
}
