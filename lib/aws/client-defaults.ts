/** What the clients of DynamoDB and SQS have in common. */
export const clientDefaults = {
  // Without it every request builds its middleware again.
  cacheMiddleware: true,
  // The SDK copies each request and reply, text by text, for whoever listens to `info`. Its own silent logger does.
  logger: { warn() {} } as never,
  // CloudTrail shows who asks.
  customUserAgent: 'leasehold',
};
