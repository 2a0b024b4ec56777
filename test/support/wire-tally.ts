/** What one operation cost on the wire since the tally began. */
type OperationTally = {
  /** Requests that clients sent, SDK retries included. */
  readonly requests: number;
  /** Requests that reached the engine and were answered. */
  readonly forwarded: number;
  readonly requestBytes: number;
  readonly replyBytes: number;
  /** Sum of the consumed capacity in replies; zero unless requests ask for ReturnConsumedCapacity. */
  readonly capacityUnits: number;
};

const nothing: OperationTally = {
  requests: 0,
  forwarded: 0,
  requestBytes: 0,
  replyBytes: 0,
  capacityUnits: 0,
};

/** Counts requests, bytes and consumed capacity by operation. */
export type WireTally = {
  add(operation: string, amounts: Partial<OperationTally>): void;
  of(operation: string): OperationTally;
  counts(): Readonly<Record<string, number>>;
  all(): Readonly<Record<string, OperationTally>>;
  clear(): void;
};

/** The capacity units in a reply: a batch reports a list, other operations one object. */
export function capacityUnitsIn(reply: Readonly<Record<string, unknown>>): number {
  const reported = [reply.ConsumedCapacity ?? []].flat();
  return reported.reduce<number>((sum, each) => {
    const units =
      typeof each === 'object' && each !== null && 'CapacityUnits' in each ? each.CapacityUnits : 0;
    return sum + (typeof units === 'number' ? units : 0);
  }, 0);
}

/** Starts a tally at zero. */
export function wireTally(): WireTally {
  const tallies = new Map<string, OperationTally>();
  const of = (operation: string) => tallies.get(operation) ?? nothing;
  return {
    of,
    add: (operation, amounts) => {
      const sum = of(operation);
      tallies.set(operation, {
        requests: sum.requests + (amounts.requests ?? 0),
        forwarded: sum.forwarded + (amounts.forwarded ?? 0),
        requestBytes: sum.requestBytes + (amounts.requestBytes ?? 0),
        replyBytes: sum.replyBytes + (amounts.replyBytes ?? 0),
        capacityUnits: sum.capacityUnits + (amounts.capacityUnits ?? 0),
      });
    },
    counts: () => Object.fromEntries([...tallies].map(([operation, tally]) => [operation, tally.requests])),
    all: () => Object.fromEntries(tallies),
    clear: () => tallies.clear(),
  };
}
