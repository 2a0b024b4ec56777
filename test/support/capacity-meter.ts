import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** What the engine says its work has cost since the last reset. */
export interface CapacityMeter {
  readonly requests: number;
  /** Units by operation, table and indexes together. */
  readonly units: Readonly<Record<string, number>>;
  /** Units of all operations, by where they were spent. */
  readonly spent: { readonly table: number; readonly indexes: number; readonly total: number };
  reset(): void;
}

interface Consumed {
  readonly CapacityUnits?: number;
  readonly Table?: { readonly CapacityUnits?: number };
  readonly GlobalSecondaryIndexes?: Readonly<Record<string, { readonly CapacityUnits?: number }>>;
}

/** Asks the engine for consumed capacity with every request of this client, and adds it up. */
export function meterCapacity(client: DynamoDBClient): CapacityMeter {
  let requests = 0;
  let units: Record<string, number> = {};
  let spent = { table: 0, indexes: 0, total: 0 };
  const add = (operation: string, consumed: Consumed): void => {
    const total = consumed.CapacityUnits ?? 0;
    const indexes = Object.values(consumed.GlobalSecondaryIndexes ?? {}).reduce(
      (sum, index) => sum + (index.CapacityUnits ?? 0),
      0,
    );
    units[operation] = (units[operation] ?? 0) + total;
    spent = {
      table: spent.table + total - indexes,
      indexes: spent.indexes + indexes,
      total: spent.total + total,
    };
  };
  client.middlewareStack.add(
    (next, context) => async (args) => {
      requests += 1;
      const input = { ...(args.input as object), ReturnConsumedCapacity: 'INDEXES' };
      const reply = await next({ ...args, input });
      const { ConsumedCapacity: consumed } = reply.output as { ConsumedCapacity?: Consumed | Consumed[] };
      const operation = String(context.commandName ?? 'unknown').replace('Command', '');
      for (const each of [consumed ?? []].flat()) add(operation, each);
      return reply;
    },
    { step: 'initialize', name: 'capacityMeter', priority: 'high' },
  );
  return {
    get requests() {
      return requests;
    },
    get units() {
      return units;
    },
    get spent() {
      return spent;
    },
    reset() {
      requests = 0;
      units = {};
      spent = { table: 0, indexes: 0, total: 0 };
    },
  };
}
