import {
  type ActionReply,
  type JobAction,
  type JobDetail,
  TOKEN_HEADER,
  TOKEN_PARAMETER,
  type WorkerAction,
} from '../page-messages.ts';

const KEY = 'leasehold-token';

/** Takes the token out of the link that was printed in the terminal, and out of the address bar. */
export function takeToken(): string | undefined {
  const [, given] = new RegExp(`^#${TOKEN_PARAMETER}=([\\w-]+)$`).exec(location.hash) ?? [];
  if (given !== undefined) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, '', `${location.pathname}#/`);
  }
  return sessionStorage.getItem(KEY) ?? undefined;
}

const headers = () => ({ [TOKEN_HEADER]: sessionStorage.getItem(KEY) ?? '' });

/** The address of the stream: an event source cannot set a header. */
export const streamUrl = (token: string): string =>
  `/api/stream?${TOKEN_PARAMETER}=${encodeURIComponent(token)}`;

/** Everything known of a job; undefined when there is none with this id. */
export async function fetchJob(jobId: string): Promise<JobDetail | undefined> {
  const reply = await fetch(`/api/jobs/${encodeURIComponent(jobId)}`, { headers: headers() });
  return reply.ok ? ((await reply.json()) as JobDetail) : undefined;
}

async function post(path: string): Promise<ActionReply> {
  try {
    const reply = await fetch(path, { method: 'POST', headers: headers() });
    return (await reply.json()) as ActionReply;
  } catch {
    return { ok: false, message: 'The console does not answer. Is it still running?' };
  }
}

export const postJobAction = (jobId: string, action: JobAction): Promise<ActionReply> =>
  post(`/api/jobs/${encodeURIComponent(jobId)}/${action}`);

export const postWorkerAction = (pid: number, action: WorkerAction): Promise<ActionReply> =>
  post(`/api/workers/${pid}/${action}`);
