import { pointersOf } from '../../lib/protocol/rows/data-pointer.ts';
import {
  type Act,
  type DataState,
  type DataVariation,
  type DataWorker,
  deliverData,
  firstDataState,
  forgetful,
  NOBODY,
  type Order,
  SOUND_DATA,
  takenBack,
  withoutData,
} from './data-world.ts';

export type DataBounds = DataState['left'];

/** Visits every state that the job's data can get into within the bounds; the first broken promise has a shortest path. */
export function exploreData(bounds: DataBounds, variation: DataVariation = SOUND_DATA) {
  const first = firstDataState(bounds);
  const seen = new Map<string, { readonly from: string | undefined; readonly what: string }>();
  let frontier: [string, DataState][] = [[keyOf(first), first]];
  seen.set(keyOf(first), { from: undefined, what: 'start' });
  while (frontier.length > 0) {
    const next: [string, DataState][] = [];
    for (const [from, state] of frontier)
      for (const [what, reached] of steps(state, variation)) {
        const after = swept(reached);
        const key = keyOf(after);
        if (seen.has(key)) continue;
        seen.set(key, { from, what });
        if (after.broken !== undefined)
          return { states: seen.size, broken: { promise: after.broken, path: pathTo(key, seen) } };
        next.push([key, after]);
      }
    frontier = next;
  }
  return { states: seen.size };
}

function pathTo(
  key: string,
  seen: ReadonlyMap<string, { readonly from: string | undefined; readonly what: string }>,
) {
  const path: string[] = [];
  for (let at: string | undefined = key; at !== undefined; at = seen.get(at)?.from)
    path.unshift(seen.get(at)?.what ?? '');
  return path.slice(1);
}

/** Data to which nothing can lead any more is as good as gone. */
function swept(state: DataState): DataState {
  const rest = JSON.stringify([state.row, state.net, state.workers]);
  const kept = Object.entries(state.data).filter(([key]) => {
    const [, place = ''] = key.split('#');
    return rest.includes(place.replace(/\.\d+$/, ''));
  });
  return { ...state, data: Object.fromEntries(kept) };
}

/** States that differ only in how orders are numbered, or in the order of the network, are one. */
function keyOf({ ids: _, ...state }: DataState): string {
  const net = state.net
    .map((each) => ({ each, shape: JSON.stringify(each).replace(/~\d+/g, '~') }))
    .sort((a, b) => (a.shape < b.shape ? -1 : 1))
    .map(({ each }) => each);
  const numbers = new Map<string, number>();
  return JSON.stringify({ ...state, net }).replace(/~(\d+)/g, (_whole, id: string) => {
    const number = numbers.get(id) ?? numbers.size;
    numbers.set(id, number);
    return `~${number}`;
  });
}

type Step = readonly [string, DataState];

function* steps(state: DataState, variation: DataVariation): Generator<Step> {
  const { left, net, row } = state;
  for (const [index, me] of state.workers.entries()) yield* workerSteps(state, index, me, variation);
  for (const [i, request] of net.entries()) {
    const without = { ...state, net: net.toSpliced(i, 1) };
    const name = `${request.order.act} ${request.order.id}, ${request.what}`;
    yield [`${name} arrives`, deliverData(without, request, variation, false)];
    if (left.faults === 0) continue;
    const faulty = spend(without, 'faults');
    yield [`${name} arrives, its reply is lost`, deliverData(faulty, request, variation, true)];
    yield [`${name} arrives, and will again`, deliverData(spend(state, 'faults'), request, variation, false)];
    yield [`${name} is lost`, forgetful(faulty, request)];
    yield [`${name} is given up, and arrives later`, forgetful(spend(state, 'faults'), request)];
  }
  if (row?.status === 'running' && left.takeBack > 0)
    yield ['an operator takes it back', takenBack(spend(state, 'takeBack'))];
  if (left.faults > 0)
    for (const [name, pointer] of pointersOf(row ?? {}))
      yield [`its ${name} expires too early`, withoutData(spend(state, 'faults'), pointer)];
}

const spend = (state: DataState, what: keyof DataBounds): DataState => ({
  ...state,
  left: { ...state.left, [what]: state.left[what] - 1 },
});

function* workerSteps(
  state: DataState,
  index: number,
  me: DataWorker,
  variation: DataVariation,
): Generator<Step> {
  const { left, ids, row } = state;
  const id = `~${ids}`;
  const mine = { owner: me.owner, attempt: me.attempt, id, seq: me.seq };
  const sends = (what: Act | 'restart', order: Order, worker: DataWorker): DataState => {
    const pointer = { what: 'pointer', order } as const;
    const data = { what: 'data', order } as const;
    const requests = order.kept.length === 0 ? [pointer] : variation.pointerFirst ? [data, pointer] : [data];
    const spent = spend(state, what);
    return {
      ...spent,
      ids: ids + 1,
      net: [...spent.net, ...requests],
      workers: spent.workers.map((each, i) => (i === index ? worker : each)),
    };
  };
  if (me.owner === '') {
    if (left.claim === 0) return;
    const owner = `w${index}${id}`;
    const waiting = { ...NOBODY, owner, busy: id };
    const claim = { act: 'claim', owner, attempt: 0, id, seq: 0 } as const;
    const kept = [{ name: 'payload', place: `p${id}`, text: `payload of w${index}` }] as const;
    yield [`w${index} claims by its message`, sends('claim', { ...claim, kept }, waiting)];
    if (row !== undefined)
      yield [`w${index} claims by a hint`, sends('claim', { ...claim, kept: [] }, waiting)];
    return;
  }
  if (left.faults > 0)
    yield [
      `w${index} dies`,
      { ...spend(state, 'faults'), workers: state.workers.map((each, i) => (i === index ? NOBODY : each)) },
    ];
  if (me.busy !== '') return;
  if (left.save > 0) {
    const { slots, place } = variation.nextSlot(me, id);
    const kept = [{ name: 'checkpoint', place, text: `checkpoint ${id}` }] as const;
    const order: Order = { ...mine, act: 'save', seq: me.seq + 1, kept, slots };
    yield [`w${index} saves`, sends('save', order, { ...me, seq: me.seq + 1, busy: id, slots })];
  }
  if (left.report > 0) {
    const order: Order = { ...mine, act: 'report', seq: me.seq + 1, kept: [] };
    yield [`w${index} reports progress`, sends('report', order, { ...me, seq: me.seq + 1, busy: id })];
  }
  if (left.complete > 0) {
    const kept = [{ name: 'result', place: `r${id}`, text: `result ${id}` }] as const;
    yield [`w${index} completes`, sends('complete', { ...mine, act: 'complete', kept }, { ...me, busy: id })];
  }
  if (left.restart > 0)
    yield [
      `w${index} restarts`,
      sends('restart', { ...mine, act: 'restart', kept: [] }, { ...me, busy: id }),
    ];
}
