import { randomUUID } from 'node:crypto';
import { systemRandom } from '../aws/clock.ts';
import { documentItems, transactItems } from '../aws/dynamodb/transact-items.ts';
import { planDispatch } from '../protocol/decisions/dispatch.ts';
import type { Clock, JobQueue, Table } from '../protocol/ports.ts';
import { createJobStore } from '../protocol/store/job-store.ts';
import { rowAfter } from '../protocol/writes/evaluate.ts';
import type { RowWrite } from '../protocol/writes/row-write.ts';
import type { Settings } from '../settings/settings.ts';
import { LeaseholdError } from '../wire/leasehold-error.ts';
import type { SendOptions } from '../wire/message.ts';
import { currentTrace } from '../worker/current-trace.ts';
import { newJob } from '../worker/intake/read-message.ts';
import type { Registry } from '../worker/registry.ts';
import { checkMessage } from './producer/check-message.ts';
import { sweptShards } from './swept-shards.ts';

/** The job's type or the reaper's shards are unknown, so nothing was written. */
export class EnqueueRefusedError extends LeaseholdError {
  static override readonly name: string = 'EnqueueRefusedError';
  static override readonly code = 'ENQUEUE_REFUSED';

  constructor(reason: string) {
    super(EnqueueRefusedError.code, `no row was made for the job: ${reason}`);
  }
}

/** A job as items for your own transaction. */
export interface EnqueuedItems {
  readonly jobId: string;
  /** For a TransactWriteItemsCommand. The transaction is cancelled if the job has a row. */
  readonly items: ReturnType<typeof transactItems>;
  /** For the document client's TransactWriteCommand. */
  readonly documentItems: ReturnType<typeof documentItems>;
  /** Send it with every retry, so that DynamoDB applies the transaction once. */
  readonly clientRequestToken: string;
  /** Call after the transaction. The reaper replaces a lost hint. */
  sendHint(): Promise<{ readonly sent: boolean; readonly reason?: string }>;
  /** Whether the transaction took effect; ask if DynamoDB refuses to repeat it. */
  wasWritten(): Promise<boolean>;
}

export interface EnqueueParts {
  readonly found: { readonly tableName: string };
  readonly table: Table;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly registry?: Registry;
  readonly actor: string;
  queue(): Pick<JobQueue, 'sendHints'>;
}

/** Kept for the row's lifetime, unlike `changedBy`. */
const TOKEN = 'enqueueToken';

export async function enqueueItems(
  parts: EnqueueParts,
  type: string,
  payload: unknown,
  options?: SendOptions,
): Promise<EnqueuedItems> {
  const { table, registry, clock, actor } = parts;
  if (registry === undefined)
    throw new EnqueueRefusedError(
      "the client has no registry, and the row keeps the type's lease and budgets. Give createClient the registry",
    );
  const checked = await checkMessage(parts, type, payload, options);
  const { jobId } = checked;
  const shards = await sweptShards(table);
  if (shards === undefined)
    throw new EnqueueRefusedError(
      "the table does not say which shards are swept: no reaper has run on it, or its row was edited. Deploy the stack or start 'leasehold dev' and wait for its first sweep; 'leasehold doctor' shows what is wrong",
    );
  const settings = { ...parts.settings, shards };
  const dispatch = planDispatch(checked.at, checked.message.notBefore ?? checked.at, settings);
  const writes: RowWrite[] = [];
  const store = createJobStore({ table: recording(writes), clock, random: systemRandom, settings, actor });
  await store.schedule(
    newJob(checked.message, { messageId: jobId, trace: currentTrace() }, registry.find(type), settings),
    dispatch,
  );
  const clientRequestToken = randomUUID();
  const marked = writes.map((write) =>
    write.jobId === jobId ? { ...write, set: { ...write.set, [TOKEN]: clientRequestToken } } : write,
  );
  const { tableName } = parts.found;
  return {
    jobId,
    items: transactItems(marked, tableName),
    documentItems: documentItems(marked, tableName),
    clientRequestToken,
    async sendHint() {
      if (dispatch.hintDelaySeconds === undefined)
        return { sent: false, reason: 'the reaper sends it when due' };
      const { sent, reason } = await parts
        .queue()
        .sendHints([{ jobId, type, key: checked.message.key, delaySeconds: dispatch.hintDelaySeconds }]);
      return { sent: sent === 1, reason };
    },
    wasWritten: async () => (await table.read(jobId))?.[TOKEN] === clientRequestToken,
  };
}

function recording(writes: RowWrite[]): Table {
  const refuse = async (): Promise<never> => {
    throw new EnqueueRefusedError('the store would read first; report this as a bug');
  };
  return {
    async apply(write) {
      writes.push(write);
      return { applied: true, row: rowAfter(write, undefined) };
    },
    applyMany: refuse,
    read: refuse,
    readMany: refuse,
    query: refuse,
    count: refuse,
  };
}
