import { randomUUID } from 'node:crypto';
import { systemChance } from '../aws/clock.ts';
import { documentItems, transactItems } from '../aws/dynamodb/transact-items.ts';
import { planDispatch } from '../protocol/decisions/dispatch.ts';
import type { Clock, JobQueue, Table } from '../protocol/ports.ts';
import { createJobStore } from '../protocol/store/job-store.ts';
import { rowAfter } from '../protocol/writes/evaluate.ts';
import type { RowWrite } from '../protocol/writes/row-write.ts';
import type { Settings } from '../settings/settings.ts';
import { LeaseholdError } from '../wire/leasehold-error.ts';
import type { SendOptions } from '../wire/message.ts';
import { currentTrace } from '../worker/cells/cell/current-trace.ts';
import { newJob } from '../worker/intake/read-message.ts';
import type { Registry } from '../worker/registry.ts';
import { checkMessage } from './producer/check-message.ts';
import { sweptShards } from './swept-shards.ts';

/** The row of a job can only be made where its type and the reaper's shards are known. Nothing was written. */
export class EnqueueRefusedError extends LeaseholdError {
  static override readonly name: string = 'EnqueueRefusedError';
  static override readonly code = 'ENQUEUE_REFUSED';

  constructor(reason: string) {
    super(EnqueueRefusedError.code, `no row was made for the job: ${reason}`);
  }
}

/** A job as parts of a transaction of yours. Nothing is written before you send it. */
export interface EnqueuedItems {
  readonly jobId: string;
  /** For `TransactItems` of a TransactWriteItemsCommand. The transaction is cancelled where the job has a row already. */
  readonly items: ReturnType<typeof transactItems>;
  /** The same for a TransactWriteCommand of the document client. */
  readonly documentItems: ReturnType<typeof documentItems>;
  /** Send every repeat of the transaction with this one: DynamoDB then carries it out once. */
  readonly clientRequestToken: string;
  /** Tells a worker at once, after the transaction has succeeded. Where it is lost, the reaper sends another. */
  sendHint(): Promise<{ readonly sent: boolean; readonly reason?: string }>;
  /** Whether the transaction was carried out: for a repeat that is refused because the first succeeded after all. */
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

/** Stays on the row for its life: `changedBy` tells only until the first claim who wrote it. */
const TOKEN = 'enqueueToken';

/** Makes the write by which a worker would keep a job for later, data rows included, for somebody else to carry out. */
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
      "no reaper has run on this table, so nobody knows which shards it will sweep. Deploy the stack or start 'leasehold dev', and wait for its first sweep",
    );
  const settings = { ...parts.settings, shards };
  const dispatch = planDispatch(checked.at, checked.message.notBefore ?? checked.at, settings);
  const writes: RowWrite[] = [];
  const store = createJobStore({ table: recording(writes), clock, chance: systemChance, settings, actor });
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
        .sendHints([{ jobId, type, delaySeconds: dispatch.hintDelaySeconds }]);
      return { sent: sent === 1, reason };
    },
    wasWritten: async () => (await table.read(jobId))?.[TOKEN] === clientRequestToken,
  };
}

/** A table that takes every write down and carries none out: so the items are the very writes that the store would send. */
function recording(writes: RowWrite[]): Table {
  const refuse = async (): Promise<never> => {
    throw new EnqueueRefusedError('the store would read first; report this as a bug');
  };
  return {
    async apply(write) {
      writes.push(write);
      return { applied: true, row: rowAfter(write, undefined) };
    },
    ...{ applyMany: refuse, read: refuse, readMany: refuse, query: refuse, count: refuse },
  };
}
