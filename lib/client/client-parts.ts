import type { SQSClient } from '@aws-sdk/client-sqs';
import type { TableInspection } from '../aws/dynamodb/table-inspection.ts';
import type { JobQueue, JobStore, Table } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { Routing } from '../wire/pools.ts';

export interface ClientParts {
  readonly found: {
    readonly tableName: string;
    readonly queueUrl?: string;
  };
  readonly table: Table;
  readonly inspection: TableInspection;
  readonly store: JobStore;
  readonly settings: Settings;
  readonly sqs: SQSClient;
  readonly routing?: Routing;
  /** Age of the oldest message in milliseconds, if known. @default - of the default queue */
  queueAge(queueUrl?: string): Promise<number | undefined>;
  queue(): JobQueue;
}
