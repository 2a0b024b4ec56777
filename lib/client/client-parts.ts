import type { SQSClient } from '@aws-sdk/client-sqs';
import type { TableInspection } from '../aws/dynamodb/table-inspection.ts';
import type { JobQueue, JobStore, Table } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';

/** A system as its clients see it, from code or from the command line. */
export interface ClientParts {
  readonly found: {
    readonly tableName: string;
    /** Undefined: no queue is named, so nothing can be sent. */
    readonly queueUrl?: string;
  };
  readonly table: Table;
  readonly inspection: TableInspection;
  readonly store: JobStore;
  /** With the number of shards that the reaper sweeps. */
  readonly settings: Settings;
  readonly sqs: SQSClient;
  /** How old the oldest message in the queue is, in milliseconds; undefined where nobody tells. */
  queueAge(): Promise<number | undefined>;
  /** Throws an error that says what to do when no queue is named. */
  queue(): JobQueue;
}
