import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BatchWriteItemCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Job } from '../../lib/protocol/job.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import type { Deployment, Outputs } from './deployment.ts';
import type { Emulator } from './emulator.ts';

const fixture = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'fixtures', 'rows-of-0.1.json'), 'utf8'),
) as { readonly now: number; readonly rows: readonly Row[] };

/** Long enough ago that every lease of then has lapsed. */
const AGO_MS = 10 * 60_000;

/** Times are ms since 1970, but for when a row expires, which is seconds. */
const isTime = (value: unknown): value is number => typeof value === 'number' && value > 1.7e12;

/** A row as version 0.1 would have written it some minutes ago, for a job that today's worker knows. */
function asOfLately(row: Row): Row {
  const laterMs = Date.now() - AGO_MS - fixture.now;
  const moved = Object.entries(row).map(([name, value]) => {
    if (name === 'expiresAt' && typeof value === 'number') return [name, Math.round(value + laterMs / 1000)];
    return [name, isTime(value) ? value + laterMs : value];
  });
  const job = row.type === 'report' ? { type: 'count-primes', payload: '{"below":10}' } : {};
  // What it would continue from is another handler's.
  const { checkpoint: _, ...rest } = Object.fromEntries(moved);
  return { ...rest, ...job };
}

/** Puts the rows of version 0.1 into the table of the stack of version 0.1. */
export async function putOldRows({ TableName }: Outputs, emulator: Emulator): Promise<void> {
  const client = new DynamoDBClient(emulator.clientConfig);
  const Items = fixture.rows.map((row) => ({ PutRequest: { Item: marshall(asOfLately(row)) } }));
  const { UnprocessedItems = {} } = await client.send(
    new BatchWriteItemCommand({ RequestItems: { [TableName]: Items } }),
  );
  client.destroy();
  if (Object.keys(UnprocessedItems).length > 0) throw new Error('not all rows of 0.1 were written');
}

/** The indexes of the table. */
export async function indexesOf({ TableName }: Outputs, emulator: Emulator): Promise<string[]> {
  const client = new DynamoDBClient(emulator.clientConfig);
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  client.destroy();
  return (Table?.GlobalSecondaryIndexes ?? []).map(({ IndexName = '' }) => IndexName);
}

/** Every row of version 0.1 comes to the end that it should. */
export async function finishOldRows(deployment: Deployment, withinMs: number): Promise<void> {
  const become = (status: Job['status']) => (job: Job) => job.status === status;
  for (const jobId of ['pending-fresh', 'pending-retried', 'running', 'running-fat'])
    await deployment.until(jobId, become('done'), withinMs);
  await deployment.until('running-cancel-requested', become('cancelled'), withinMs);
  for (const jobId of ['failed', 'failed-quarantined', 'bad:message-1'])
    await deployment.until(jobId, become('failed'), withinMs);
  await deployment.until('pending-fat', become('pending'), withinMs);
}

/** `doctor` puts the failures of 0.1 where lists find them. */
export function repairOldFailures({ TableName, QueueUrl }: Outputs, { environment }: Emulator): void {
  const program = join(import.meta.dirname, '..', '..', 'bin', 'leasehold.ts');
  const leasehold = (...args: string[]) =>
    spawnSync(process.execPath, [program, ...args, '--table', TableName, '--queue-url', QueueUrl, '--json'], {
      env: { PATH: process.env.PATH, ...environment },
      encoding: 'utf8',
    });
  const repair = leasehold('doctor', '--repair', '--yes');
  const { stdout, stderr } = leasehold('ls', '--status', 'failed');
  const listed = ['failed', 'failed-quarantined', 'bad:message-1'].filter((jobId) =>
    stdout.includes(`"${jobId}"`),
  );
  if (listed.length < 3)
    throw new Error(
      `only ${listed.join(', ')} listed after a repair:\n${repair.stdout}${repair.stderr}\n${stdout}${stderr}`,
    );
}
