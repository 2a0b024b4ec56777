import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import type { Clock, JobStore, Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { type CapacityMeter, meterCapacity } from '../../test/support/capacity-meter.ts';
import { local } from '../systems/leasehold-settings.ts';

/** A jobs table of its own on an engine, with a meter for what it costs. */
export interface MeteredStore {
  readonly client: DynamoDBClient;
  readonly tableName: string;
  readonly table: Table;
  readonly store: JobStore;
  readonly meter: CapacityMeter;
  close(): void;
}

let tables = 0;

export async function createMeteredStore(options: {
  readonly endpoint: string;
  readonly clock: Clock;
  readonly settings: Settings;
}): Promise<MeteredStore> {
  const { endpoint, clock, settings } = options;
  tables += 1;
  const tableName = `bench-${process.pid}-table-${tables}`;
  const client = createDynamoDbClient({
    clock,
    config: { ...local(endpoint), requestHandler: { requestTimeout: 60_000 } },
  });
  await createJobsTable(client, tableName);
  const meter = meterCapacity(client);
  const table = createDynamoDbTable({ client, tableName });
  const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'bench' });
  return { client, tableName, table, store, meter, close: () => client.destroy() };
}
