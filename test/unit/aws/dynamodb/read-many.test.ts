import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchGetCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { documentClientOf } from '../../../../lib/aws/dynamodb/client.ts';
import { readMany } from '../../../../lib/aws/dynamodb/read-many.ts';
import { ThrottledError } from '../../../../lib/protocol/errors.ts';

const documents = mockClient(DynamoDBDocumentClient);
afterAll(() => documents.restore());
const client = new DynamoDBClient({ region: 'eu-west-1' });
const waits: number[] = [];
const read = (jobIds: readonly string[]) =>
  readMany(documentClientOf(client), 'jobs', jobIds, async (ms) => void waits.push(ms));

interface Asked {
  readonly RequestItems: { readonly jobs: { readonly Keys: { jobId: string }[] } };
}
const keysOf = ({ RequestItems }: Asked) => RequestItems.jobs.Keys.map(({ jobId }) => jobId);
const asked = () => documents.commandCalls(BatchGetCommand).map(({ args }) => args[0].input);
const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `j${from + i}`);
const row = (jobId: string) => ({ jobId, n: 1 });
const unprocessed = (jobIds: readonly string[]) => ({ jobs: { Keys: jobIds.map((jobId) => ({ jobId })) } });

/** What is answered first; then every row is there. */
let replies: object[] = [];

beforeEach(() => {
  waits.length = 0;
  replies = [];
  documents.reset();
  documents
    .on(BatchGetCommand)
    .callsFake(
      (input: Asked) => replies.shift() ?? { Responses: { jobs: keysOf(input).reverse().map(row) } },
    );
});

it('reads 100 rows a request, consistently, each once, and gives them in the order asked for', async () => {
  const jobIds = [...names(0, 230), 'j3'];
  expect(await read(jobIds)).toEqual(jobIds.map(row));
  expect(asked()).toEqual(
    [names(0, 100), names(100, 200), names(200, 230)].map((each) => ({
      RequestItems: { jobs: { Keys: each.map((jobId) => ({ jobId })), ConsistentRead: true } },
    })),
  );
  expect(await read([])).toEqual([]);
  expect(asked()).toHaveLength(3);
});

it('requests unprocessed keys at once, before the rest', async () => {
  const jobIds = names(0, 120);
  replies.push({
    Responses: { jobs: names(0, 98).map(row) },
    UnprocessedKeys: unprocessed(names(98, 100)),
  });
  expect(await read(jobIds)).toEqual(jobIds.map(row));
  expect(asked().map((each) => keysOf(each as Asked))).toEqual([names(0, 100), names(98, 120)]);
  expect(waits).toEqual([]);
});

it('waits twice as long each time nothing at all was read, and then says that it is throttled', async () => {
  const nothing = { Responses: {}, UnprocessedKeys: unprocessed(['a', 'b']) };
  replies.push(nothing, nothing);
  expect(await read(['a', 'b'])).toHaveLength(2);
  expect(waits).toEqual([50, 100]);
  waits.length = 0;
  documents.resetHistory();
  documents.on(BatchGetCommand).resolves(nothing);
  const reading = read(['a', 'b']);
  await expect(reading).rejects.toThrow(ThrottledError);
  await expect(reading).rejects.toThrow(/BatchGetItem/);
  expect([waits, asked().length]).toEqual([[50, 100, 200, 400], 5]);
});
