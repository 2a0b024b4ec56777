/** What the clients of DynamoDB and SQS have in common. */
export const clientDefaults = {
  // Without it every request builds its middleware again.
  cacheMiddleware: true,
  // The SDK copies each request and reply, text by text, for whoever listens to `info`. Its own silent logger does.
  // The others are called as they are, `debug` by the chain of credentials.
  logger: { trace() {}, debug() {}, warn() {}, error() {} } as never,
  // CloudTrail shows who asks.
  customUserAgent: 'leasehold',
};
