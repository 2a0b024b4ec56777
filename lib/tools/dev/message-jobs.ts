export function jobIdsOf(event: unknown): string[] {
  const { Records } = (event ?? {}) as { Records?: readonly { messageId?: string; body?: string }[] };
  return (Records ?? []).flatMap(({ messageId = '', body = '' }) => jobIdOf(body) ?? messageId);
}

function jobIdOf(body: string): string | undefined {
  try {
    const { hint, jobId } = JSON.parse(body) as { hint?: unknown; jobId?: unknown };
    const id = hint ?? jobId;
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
