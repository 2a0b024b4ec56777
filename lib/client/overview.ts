import {
  describeQueue,
  type QueueCounts,
  type QueueDescription,
  queueUrlOf,
} from '../aws/sqs/queue-inspection.ts';
import { parseControl } from '../protocol/limits/control.ts';
import type { CountQuery, Table } from '../protocol/ports.ts';
import { allShards } from '../protocol/shards.ts';
import { allFailures } from '../protocol/store/all-failures.ts';
import { parseReaperRow } from '../protocol/store/reaper-row.ts';
import type { Count } from '../tools/inspect/health.ts';
import type { PoolSigns } from '../tools/inspect/intake-health.ts';
import type { Parked } from '../tools/inspect/parked.ts';
import { CONTROL_KEY } from '../wire/limits.ts';
import { LEADER_KEY } from '../wire/table.ts';
import type { ClientParts } from './client-parts.ts';
import { readPools } from './pool-states.ts';
import { readParked } from './read-waits.ts';

/** Counts from the index and the queue. */
export interface Overview {
  readonly at: number;
  readonly running: Count;
  /** Running with a lapsed lease, ready to be reclaimed. */
  readonly lapsed: Count;
  readonly pending: Count;
  /** Pending past the dispatch lease; the next sweep resends their hints. */
  readonly overdue: Count;
  /** Earliest lease end among running jobs. */
  readonly soonestLeaseEnd?: number;
  /** Earliest time at which a pending job's hint is due again. */
  readonly soonestHint?: number;
  readonly failed: Readonly<Record<string, Count>>;
  /** Jobs that wait for a limit or a paused type. */
  readonly parked: Parked;
  /** The queue of each pool, if there are several. */
  readonly pools?: readonly PoolSigns[];
  readonly queue?: QueueCounts;
  readonly deadLetters?: QueueCounts;
  /** Undefined if none has run yet. */
  readonly reaper?: ReaperState;
}

interface ReaperState {
  readonly holder?: string;
  readonly term: number;
  readonly wakeAt?: number;
  readonly ledAt?: number;
}

type OverviewParts = Pick<ClientParts, 'table' | 'settings' | 'found' | 'sqs' | 'routing' | 'queueAge'>;

const PAGE = 10_000;
/** Reading these costs no more than counting them. */
const HEAD = 1_000;
const FAILURES_A_PAGE = 1_000;

export async function readOverview(
  parts: OverviewParts,
  now: number,
  options: { readonly types?: readonly string[]; readonly pagesEach: number },
): Promise<Overview> {
  const { table, settings } = parts;
  const shards = allShards(settings.shards);
  const countAll = (partitions: readonly string[], range: Pick<CountQuery, 'upTo'> = {}) =>
    total(partitions.map((partition) => countPages(table, { partition, ...range }, options.pagesEach)));
  const [running, lapsed, pending, overdue, ...rest] = await Promise.all([
    readAndCount(table, shards.running, options.pagesEach),
    countAll(shards.running, { upTo: now - settings.skewMs }),
    readAndCount(table, shards.pending, options.pagesEach),
    countAll(shards.pending, { upTo: now }),
    readLeader(table),
    table.read(CONTROL_KEY).then(parseControl),
    readQueues(parts),
    countFailures(parts, options),
  ]);
  const [reaper, control, queues, failed] = rest;
  const runningTypes = { types: running.rows.map(({ type }) => String(type)), complete: running.isWhole };
  const waits = pending.rows.flatMap(({ waitsFor }) => (typeof waitsFor === 'string' ? [waitsFor] : []));
  const [parked, pools] = await Promise.all([
    readParked(table, control, { waits, complete: pending.isWhole }),
    readPools(parts, runningTypes),
  ]);
  return {
    at: now,
    running: running.count,
    lapsed,
    pending: pending.count,
    overdue,
    soonestLeaseEnd: running.soonest,
    soonestHint: pending.soonest,
    failed,
    parked,
    pools,
    ...queues,
    reaper,
  };
}

async function readAndCount(table: Table, partitions: readonly string[], pages: number) {
  const shards = await Promise.all(
    partitions.map(async (partition) => {
      const { rows, cursor } = await table.query({ partition, limit: HEAD });
      const rest =
        cursor === undefined
          ? { count: 0, complete: true }
          : await countPages(table, { partition, cursor }, pages);
      return {
        rows,
        isWhole: cursor === undefined,
        count: rows.length + rest.count,
        complete: rest.complete,
      };
    }),
  );
  const ends = shards.flatMap(({ rows: [first] }) => (first === undefined ? [] : [Number(first.leaseUntil)]));
  return {
    rows: shards.flatMap(({ rows }) => rows),
    isWhole: shards.every(({ isWhole }) => isWhole),
    count: sumOf(shards),
    soonest: ends.length === 0 ? undefined : Math.min(...ends),
  };
}

/** Counting an entry costs as much as reading it, so one read yields all types. */
async function countFailures(
  { table, settings }: OverviewParts,
  { types, pagesEach }: { readonly types?: readonly string[]; readonly pagesEach: number },
): Promise<Readonly<Record<string, Count>>> {
  const counts = new Map<string, number>((types ?? []).map((type) => [type, 0]));
  let left = pagesEach * FAILURES_A_PAGE;
  for await (const { failure } of allFailures(table, {
    shards: settings.shards,
    pageSize: FAILURES_A_PAGE,
  })) {
    if (left-- === 0) break;
    if (types === undefined || types.includes(failure.type))
      counts.set(failure.type, (counts.get(failure.type) ?? 0) + 1);
  }
  return Object.fromEntries(
    [...counts].map(([type, count]) => [type, { count, complete: left >= 0 }] as const),
  );
}

async function countPages(table: Table, query: Omit<CountQuery, 'atMost'>, pages: number): Promise<Count> {
  let count = 0;
  let cursor = query.cursor;
  for (let page = 0; page < pages; page++) {
    const part = await table.count({ ...query, atMost: PAGE, cursor });
    count += part.count;
    cursor = part.cursor;
    if (cursor === undefined) return { count, complete: true };
  }
  return { count, complete: false };
}

const total = async (counts: readonly Promise<Count>[]): Promise<Count> => sumOf(await Promise.all(counts));

const sumOf = (all: readonly Count[]): Count => ({
  count: all.reduce((sum, each) => sum + each.count, 0),
  complete: all.every((each) => each.complete),
});

async function readLeader(table: Table): Promise<ReaperState | undefined> {
  const row = await table.read(LEADER_KEY);
  if (row === undefined) return undefined;
  const { holder, term, wakeAt, ledAt } = parseReaperRow(row);
  return { holder, term, wakeAt, ledAt };
}

async function readQueues({ found, sqs }: OverviewParts): Promise<Pick<Overview, 'queue' | 'deadLetters'>> {
  if (found.queueUrl === undefined) return {};
  const queue = await describeQueue(sqs, found.queueUrl);
  if (queue.redrive === undefined) return { queue: countsOf(queue) };
  const url = await queueUrlOf(sqs, queue.redrive.deadLetterArn);
  return { queue: countsOf(queue), deadLetters: countsOf(await describeQueue(sqs, url)) };
}

const countsOf = ({ visible, inFlight, delayed }: QueueDescription) => ({ visible, inFlight, delayed });
