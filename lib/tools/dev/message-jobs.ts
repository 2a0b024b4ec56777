/** The ids of the jobs that an event's messages speak of, as far as their bodies can be read. */
export function jobIdsOf(event: unknown): string[] {
  const { Records } = (event ?? {}) as { Records?: readonly { messageId?: string; body?: string }[] };
  return (Records ?? []).flatMap(({ messageId = '', body = '' }) => jobIdOf(body) ?? messageId);
}

/** How long the messages of jobs waited in the queue. Hints and repeats are no job's first wait. */
export function waitsOf(
  event: unknown,
  now: number,
): { readonly jobId: string; readonly waitedMs: number }[] {
  const { Records } = (event ?? {}) as {
    Records?: readonly { messageId?: string; body?: string; attributes?: Readonly<Record<string, string>> }[];
  };
  return (Records ?? []).flatMap(({ messageId = '', body = '', attributes = {} }) => {
    const { SentTimestamp, ApproximateReceiveCount = '1' } = attributes;
    if (SentTimestamp === undefined || ApproximateReceiveCount !== '1' || body.includes('"hint"')) return [];
    return [{ jobId: jobIdOf(body) ?? messageId, waitedMs: Math.max(0, now - Number(SentTimestamp)) }];
  });
}

/** Undefined where the message names no job: its id is then the message's own. */
function jobIdOf(body: string): string | undefined {
  try {
    const { hint, jobId } = JSON.parse(body) as { hint?: unknown; jobId?: unknown };
    const id = hint ?? jobId;
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
