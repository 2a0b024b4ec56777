import { DynamoDBClient, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { createClient } from '../../lib/client/index.ts';
import { defineJob } from '../../lib/index.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/**
 * A program: commits a job together with a row of its own, and is killed before it sends the hint. It names the table and the
 * job by its arguments, and finds the engines by AWS's variables.
 */
const [, , table = '', queue = '', jobId = ''] = process.argv;
const ship = defineJob({ type: 'ship', payload: z.object({ order: z.number() }), run: () => undefined });
const client = createClient({ registry: createRegistry([ship]), table, queue });
const job = await client.enqueueItems('ship', { order: 7 }, { jobId });
await new DynamoDBClient().send(
  new TransactWriteItemsCommand({
    TransactItems: [{ Put: { TableName: table, Item: { jobId: { S: 'order:7' } } } }, ...job.items],
    ClientRequestToken: job.clientRequestToken,
  }),
);
process.kill(process.pid, 'SIGKILL');
await job.sendHint();
