/** Like Lambda, treats a malformed response as a failure of the whole batch. */
export function failedMessages(payload: unknown, sent: readonly string[]): ReadonlySet<string> {
  if (payload === null || payload === undefined) return new Set();
  if (typeof payload !== 'object') return new Set(sent);
  const { batchItemFailures } = payload as { batchItemFailures?: unknown };
  if (batchItemFailures === undefined || batchItemFailures === null) return new Set();
  if (!Array.isArray(batchItemFailures)) return new Set(sent);
  const failed = new Set<string>();
  for (const each of batchItemFailures as readonly ({ itemIdentifier?: unknown } | null)[]) {
    const id = each?.itemIdentifier;
    if (typeof id !== 'string' || !sent.includes(id)) return new Set(sent);
    failed.add(id);
  }
  return failed;
}
