/** The simulated SDK and network, as lib/aws/dynamodb/client sets the real one up. */
export const clientSettings = {
  timeoutMs: 2000,
  attempts: 3,
  backoffMs: 100,
  /** The slowest ordinary way in one direction. */
  slowestMs: 40,
} as const;
