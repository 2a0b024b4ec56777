/** What the clients of DynamoDB and SQS have in common. */
export const clientDefaults = {
  // Without it every request builds its middleware again.
  cacheMiddleware: true,
  // CloudTrail shows who asks.
  customUserAgent: 'leasehold',
};

/**
 * Without the step that copies each request and reply, text by text, for a log that nobody keeps: half of what a batch of claims costs.
 * Should the SDK call it otherwise one day, it is only slower again.
 */
export function withoutLog<T extends { readonly middlewareStack: { remove(name: string): boolean } }>(
  client: T,
): T {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
}
