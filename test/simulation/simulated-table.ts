import { StoreUnavailableError, ThrottledError } from '../../lib/protocol/errors.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import type { BatchResult, RowWrite, WriteResult } from '../../lib/protocol/writes/row-write.ts';
import { clientSettings } from './client-settings.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { SimulatedServer } from './simulated-server.ts';
import type { Process } from './world.ts';

/** What became of one write of one call, told apart from what its caller was told. */
export interface SeenWrite {
  readonly write: RowWrite;
  applied: boolean;
  /** A repeat was refused although nobody else had changed the row since: the caller must recognise its own success. */
  refusedByItself: boolean;
}

interface Answer<T> {
  readonly result: T;
  readonly refusedByItself: boolean;
}

export type ResultFilter = (write: RowWrite, result: WriteResult) => WriteResult;

/** The table as one process reaches it: through an SDK that times out and repeats, over a network that loses and delays. */
export function createSimulatedTable(
  process: Process,
  server: SimulatedServer,
  seen: SeenWrite[],
  filter: ResultFilter = (_, result) => result,
): Table {
  const { world } = process;

  const applyAtServer = (entry: SeenWrite): Answer<WriteResult> => {
    const result = server.apply(entry.write);
    if (result.applied) entry.applied = true;
    // Beats of one call bear one mark: that of another claim on the row is no sign of this write.
    const refusedByItself =
      !result.applied &&
      entry.applied &&
      result.row !== undefined &&
      result.row.changedBy === entry.write.set.changedBy;
    return { result: filter(entry.write, result), refusedByItself };
  };

  const see = (write: RowWrite): SeenWrite => {
    const entry = { write, applied: false, refusedByItself: false };
    seen.push(entry);
    return entry;
  };

  /** Only the answer that reaches the caller counts: earlier ones of the same call got lost. */
  const heard = <T>(entry: SeenWrite, { result, refusedByItself }: Answer<T>): T => {
    entry.refusedByItself = refusedByItself;
    return result;
  };

  return {
    async apply(write) {
      const entry = see(write);
      return heard(entry, await request(process, [write.transition], () => applyAtServer(entry)));
    },
    async applyMany(writes) {
      const entries = writes.map(see);
      const apply = (entry: SeenWrite): Answer<BatchResult> => {
        if (!world.fault('statementThrottled', process.name)) return applyAtServer(entry);
        process.troubledAt = world.now;
        const error = new ThrottledError(entry.write.transition, undefined);
        return { result: { applied: 'failed', error }, refusedByItself: false };
      };
      try {
        const transitions = writes.map(({ transition }) => transition);
        const answers = await request(process, transitions, () => entries.map(apply));
        return answers.map((answer, i) => heard(entries[i] as SeenWrite, answer));
      } catch (error) {
        return writes.map(() => ({ applied: 'failed', error: error as Error }));
      }
    },
    read: (jobId) => request(process, ['read'], () => server.rows.get(jobId)),
    readMany: (jobIds) => request(process, ['read'], () => jobIds.map((jobId) => server.rows.get(jobId))),
    query: (query) => request(process, ['query'], () => server.query(query)),
    count: ({ partition, after, upTo, atMost }) =>
      request(process, ['query'], () => {
        const page = server.query({ partition, after, upTo, limit: atMost });
        return { count: page.rows.length, complete: page.cursor === undefined };
      }),
  };
}

/** One SDK call: attempts with a timeout each. What arrives is carried out even if its sender is gone by then. */
function request<T>(process: Process, operations: readonly string[], carryOut: () => T): Promise<T> {
  const { world } = process;
  const operation = operations.join(', ');
  const meet = (kind: FaultKind) => {
    for (const each of operations) world.met(kind, each);
    return true;
  };
  const suffers = (kind: FaultKind) => world.fault(kind, process.name) && meet(kind);
  const isCutOff = () => process.partitionedUntil > world.now && meet('partitioned');
  process.underWay.push(...operations);
  const { timeoutMs, attempts, slowestMs, backoffMs } = clientSettings;
  return new Promise<T>((resolve, reject) => {
    const repeat = (n: number, afterMs: number, failure: () => Error) => {
      process.troubledAt = world.now + afterMs;
      process.resume(afterMs, () => (n < attempts ? send(n + 1) : reject(failure())));
    };
    const unanswered = (n: number) =>
      repeat(n, timeoutMs, () => new StoreUnavailableError(operation, new Error('no reply')));
    const latency = () => world.random.integer(1, slowestMs);
    const arrive = (afterMs: number, then: (result: T) => void = () => {}) => {
      world.inFlight++;
      world.at(afterMs, () => {
        world.inFlight--;
        then(carryOut());
      });
    };
    const send = (n: number): void => {
      const there = latency();
      if (isCutOff() || suffers('requestLost')) unanswered(n);
      else if (suffers('throttled'))
        repeat(n, there + latency() + backoffMs * n, () => new ThrottledError(operation, undefined));
      else if (suffers('requestLate')) {
        arrive(world.random.integer(timeoutMs, world.pace.requestMs));
        unanswered(n);
      } else if (suffers('replyLost')) {
        arrive(there);
        unanswered(n);
      } else {
        const back = suffers('replySlow') ? timeoutMs - there - 1 : latency();
        arrive(there, (result) => process.resume(back, () => resolve(result)));
      }
    };
    send(1);
  }).finally(() => {
    for (const each of operations) process.underWay.splice(process.underWay.indexOf(each), 1);
  });
}
