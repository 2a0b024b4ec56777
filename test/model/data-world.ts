import type { Claim, RunningJob } from '../../lib/protocol/job.ts';
import {
  type DataPointer,
  dataKey,
  isDataPointer,
  pointersOf,
} from '../../lib/protocol/rows/data-pointer.ts';
import { firstSlots, type Slots, settledAt, slotKey, takeSlot } from '../../lib/protocol/store/data-slots.ts';
import { putDataWrite } from '../../lib/protocol/writes/data-writes.ts';
import { clauseHolds, rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import { takeBackWrite } from '../../lib/protocol/writes/operator-writes.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import {
  checkpointWrite,
  claimWrite,
  completeWrite,
  failWrite,
  restartWrite,
} from '../../lib/protocol/writes/worker-writes.ts';

/**
 * One job whose payload, checkpoints and result are kept beside its row, in a world small enough to visit every state of it: the real
 * writes, two workers with different messages for it, and a network that delays, repeats and loses each of their requests.
 * There is no time in it: a lease is over when an operator takes it.
 */

const JOB_ID = 'j';
const CONTEXT = { now: 0, shards: 1, expiresAt: 1 };
const DISPATCH = { notBefore: 0, leaseUntil: 0, dispatches: 0 };

/** The protocol as it is, or with one mistake in it. */
export interface DataVariation {
  readonly alter: (write: RowWrite) => RowWrite;
  /** The pointer is sent without waiting for the data. */
  readonly pointerFirst: boolean;
  /** The slots of a new claim. */
  readonly firstSlots: (row: Row | undefined) => Slots | undefined;
  /** The slot of a claim's next checkpoint. */
  readonly nextSlot: (
    me: Pick<DataWorker, 'attempt' | 'slots' | 'seq'>,
    id: string,
  ) => { readonly slots: Slots; readonly place: string };
}

/** Fewer than there really are: few checkpoints fill them, and each claim has those of the one before. */
const RING = { size: 2, claims: 1 };
export const slotOf = (
  slots: Slots | undefined,
  newPlace: string,
  size = RING.size,
): ReturnType<DataVariation['nextSlot']> => {
  const taken = takeSlot(slots, () => newPlace, size);
  return { slots: taken, place: slotKey(taken, size) };
};

export const SOUND_DATA: DataVariation = {
  alter: (write) => write,
  pointerFirst: false,
  firstSlots: (row) => {
    const [[, pointer] = []] = pointersOf(row ?? {}, ['checkpoint']);
    return firstSlots(
      { kind: 'c', createdAt: 0, attempt: Number(row?.attempt), pointsTo: pointer?.in },
      RING,
    );
  },
  nextSlot: ({ attempt, slots }, id) => slotOf(slots, `c${attempt}${id}`),
};

export type Act = 'claim' | 'save' | 'report' | 'complete';

/** Texts that go to rows of their own, and then the write that points to them. */
export interface Order {
  readonly act: Act | 'fail' | 'restart';
  readonly owner: string;
  readonly attempt: number;
  /** Unlike any other's. */
  readonly id: string;
  readonly seq: number;
  /** What is kept where; of a claim by hint nothing. */
  readonly kept: readonly {
    readonly name: 'payload' | 'checkpoint' | 'result';
    readonly place: string;
    readonly text: string;
  }[];
  readonly slots?: Slots | undefined;
}

/** A request on its way. */
export interface Request {
  readonly what: 'data' | 'pointer';
  readonly order: Order;
}

/** What a worker knows. It does one thing at a time. */
export interface DataWorker {
  readonly owner: string;
  readonly attempt: number;
  readonly seq: number;
  /** The order that it waits for. */
  readonly busy: string;
  readonly slots: Slots | undefined;
}
export const NOBODY: DataWorker = { owner: '', attempt: 0, seq: 0, busy: '', slots: undefined };

export interface DataState {
  readonly row: Row | undefined;
  readonly data: Readonly<Record<string, Row>>;
  readonly net: readonly Request[];
  readonly workers: readonly DataWorker[];
  /** What the row must say: by the writes that were applied, as they were meant. */
  readonly payload: string;
  readonly checkpoint: string | undefined;
  readonly result: string | undefined;
  readonly holder: string;
  readonly left: Readonly<Record<Act | 'takeBack' | 'restart' | 'faults', number>>;
  readonly ids: number;
  /** TTL took something before its time. */
  readonly vanished: boolean;
  readonly broken?: string | undefined;
}

export const firstDataState = (left: DataState['left']): DataState => ({
  ...{ row: undefined, data: {}, net: [], workers: [NOBODY, NOBODY], holder: '', left, ids: 1 },
  ...{ payload: '', checkpoint: undefined, result: undefined, vanished: false },
});

const pointerTo = (place: string, text: string): DataPointer => ({
  ...{ in: place, parts: 1, bytes: text.length },
});

function render({ what, order }: Request): RowWrite {
  const { act, owner, attempt, id, seq, kept } = order;
  const changedBy = `by${id}`;
  const context = { ...CONTEXT, changedBy };
  const [first] = kept;
  if (what === 'data') {
    const part = { key: dataKey(JOB_ID, first?.place ?? '', 0), text: first?.text ?? '', expiresAt: 9e9 };
    return putDataWrite(part, act === 'save' ? { attempt, seq } : undefined);
  }
  const claim: Claim = { jobId: JOB_ID, owner, attempt, startedAt: 0 };
  const pointer = first && pointerTo(first.place, first.text);
  switch (act) {
    case 'claim': {
      const typeLimits = { leaseMs: 1, maxAttempts: 9, maxCrashes: 9 };
      const job = pointer === undefined ? { jobId: JOB_ID } : { jobId: JOB_ID, type: 't', payload: pointer };
      return claimWrite({ job, owner, skewMs: 0, typeLimits }, context);
    }
    case 'save':
      return checkpointWrite(claim, { seq, checkpoint: pointer ?? '' }, context);
    case 'report':
      return checkpointWrite(claim, { seq, progress: '1' }, context);
    case 'complete':
      return completeWrite(claim, pointer, context);
    case 'fail':
      return failWrite(claim, { errors: 0, lastError: 'MissingDataError' }, context);
    case 'restart':
      return restartWrite(
        claim,
        { owner: `${owner}+`, leaseMs: 1, crashes: 0, releases: 0, lastError: 'x', diedAt: 0 },
        context,
      );
  }
}

const KEPT = [
  'jobId',
  'type',
  'status',
  'attempt',
  'leaseOwner',
  'payload',
  'checkpoint',
  'result',
  'checkpointSeq',
  'notBefore',
  'leaseMs',
  'cancelRequested',
  'changedBy',
  'format',
];
const slim = (row: Row): Row =>
  Object.fromEntries(KEPT.filter((name) => name in row).map((name) => [name, row[name]]));

/** The text of an attribute, wherever it is. */
function textOf({ row, data }: Pick<DataState, 'row' | 'data'>, name: string): string | undefined {
  const value = row?.[name];
  if (!isDataPointer(value)) return value as string | undefined;
  return data[dataKey(JOB_ID, value.in, 0)]?.data as string | undefined;
}

/** The table takes a request, which is judged; whoever sent it learns of it, unless the reply is lost. */
export function deliverData(
  state: DataState,
  request: Request,
  variation: DataVariation,
  replyIsLost: boolean,
): DataState {
  const write = variation.alter(render(request));
  const before = request.what === 'data' ? state.data[write.jobId] : state.row;
  const applied = write.when.some((all) => all.every((clause) => clauseHolds(clause, before)));
  const after = applied ? rowAfter(write, before) : before;
  const stored: DataState =
    request.what === 'data'
      ? { ...state, data: applied ? { ...state.data, [write.jobId]: after ?? {} } : state.data }
      : applied
        ? remember({ ...state, row: slim(after ?? {}) }, request.order)
        : state;
  const judged = { ...stored, broken: applied ? judge(state, stored, request) : undefined };
  return replyIsLost ? forgetful(judged, request) : learn(judged, request, variation);
}

/** What the row means from here on. */
function remember(state: DataState, { act, kept, owner }: Order): DataState {
  const text = kept[0]?.text;
  switch (act) {
    case 'claim':
      return { ...state, holder: owner, payload: state.payload === '' ? (text ?? '') : state.payload };
    case 'restart':
      return { ...state, holder: `${owner}+` };
    case 'save':
      return { ...state, checkpoint: text };
    case 'report':
      return state;
    case 'complete':
      return { ...state, holder: '', result: text };
    case 'fail':
      return { ...state, holder: '' };
  }
}

function judge(before: DataState, after: DataState, { what, order }: Request): string | undefined {
  if (what === 'pointer' && order.act !== 'claim' && order.owner !== before.holder)
    return 'a stale write is visible';
  if (after.vanished) return undefined;
  for (const name of ['payload', 'checkpoint', 'result'] as const) {
    if (after.row?.[name] === undefined) continue;
    const text = textOf(after, name);
    if (text === undefined) return `its ${name} is not there`;
    if (text !== after[name]) return `its ${name} is another’s or an older one`;
  }
  return undefined;
}

const withWorker = (state: DataState, index: number, worker: DataWorker): DataState => ({
  ...state,
  workers: state.workers.map((each, i) => (i === index ? worker : each)),
});

const senderOf = (state: DataState, { order }: Request): number =>
  state.workers.findIndex(({ owner, busy }) => owner === order.owner && busy === order.id);

/** A request that is given up: it may or may not be applied, now or later. */
export function forgetful(state: DataState, request: Request): DataState {
  const index = senderOf(state, request);
  const me = state.workers[index];
  if (me === undefined) return state;
  if (request.order.act === 'claim') return withWorker(state, index, NOBODY);
  return withWorker(state, index, { ...me, busy: '' });
}

function learn(state: DataState, request: Request, variation: DataVariation): DataState {
  const index = senderOf(state, request);
  const me = state.workers[index];
  if (me === undefined) return state;
  const { order } = request;
  if (request.what === 'data')
    return variation.pointerFirst ? state : { ...state, net: [...state.net, { what: 'pointer', order }] };
  const { row } = state;
  const isMine = row?.status === 'running' && row.leaseOwner === me.owner;
  switch (order.act) {
    case 'claim':
      return isMine ? begun(state, index, me.owner, variation) : withWorker(state, index, NOBODY);
    case 'restart':
      return row?.leaseOwner === `${me.owner}+` && row.status === 'running'
        ? begun(state, index, `${me.owner}+`, variation)
        : withWorker(state, index, NOBODY);
    case 'save':
    case 'report': {
      const stands = isMine && row.attempt === me.attempt && Number(row.checkpointSeq) >= order.seq;
      const slots = order.slots === undefined ? me.slots : settledAt(me.slots, order.slots);
      return withWorker(state, index, stands ? { ...me, busy: '', slots } : NOBODY);
    }
    default:
      return withWorker(state, index, NOBODY);
  }
}

/** The claim holds: its data is read, and what is gone fails the job. */
function begun(state: DataState, index: number, owner: string, variation: DataVariation): DataState {
  const { row, ids } = state;
  const attempt = Number(row?.attempt);
  const isGone = pointersOf(row ?? {}, ['payload', 'checkpoint']).some(
    ([name]) => textOf(state, name) === undefined,
  );
  const me = {
    owner,
    attempt,
    seq: Number(row?.checkpointSeq ?? 0),
    busy: '',
    slots: variation.firstSlots(row),
  };
  if (!isGone) return withWorker(state, index, me);
  const id = `~${ids}`;
  const order: Order = { act: 'fail', owner, attempt, id, seq: 0, kept: [] };
  return {
    ...withWorker(state, index, { ...me, busy: id }),
    ids: ids + 1,
    net: [...state.net, { what: 'pointer', order }],
    broken: state.broken ?? (state.vanished ? undefined : 'a job lost its data'),
  };
}

/** An operator takes the job from its worker. */
export function takenBack(state: DataState): DataState {
  const job = { ...state.row, acted: 0, startedAt: 0 } as unknown as RunningJob;
  const write = takeBackWrite(job, DISPATCH, { ...CONTEXT, changedBy: `by~${state.ids}` });
  return { ...state, ids: state.ids + 1, holder: '', row: slim(rowAfter(write, state.row)) };
}

/** TTL takes data before its time. */
export const withoutData = (state: DataState, pointer: DataPointer): DataState => ({
  ...state,
  vanished: true,
  data: Object.fromEntries(
    Object.entries(state.data).filter(([key]) => key !== dataKey(JOB_ID, pointer.in, 0)),
  ),
});
