/** The ids of the jobs that an event's messages speak of, as far as their bodies can be read. */
export function jobIdsOf(event: unknown): string[] {
  const { Records } = (event ?? {}) as { Records?: readonly { messageId?: string; body?: string }[] };
  return (Records ?? []).flatMap(({ messageId = '', body = '' }) => jobIdOf(body) ?? messageId);
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
