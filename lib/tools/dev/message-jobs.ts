export function jobIdsOf(event: unknown): string[] {
  const { Records } = (event ?? {}) as { Records?: readonly { messageId?: string; body?: string }[] };
  return (Records ?? []).flatMap(({ messageId = '', body = '' }) => jobIdOf(body) ?? messageId);
}

/** Skips hints and redeliveries, which are not a job's first wait. */
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

function jobIdOf(body: string): string | undefined {
  try {
    const { hint, jobId } = JSON.parse(body) as { hint?: unknown; jobId?: unknown };
    const id = hint ?? jobId;
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
