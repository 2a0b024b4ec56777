import type { Row } from '../../lib/protocol/writes/row-write.ts';
import {
  believesLive,
  clockOf,
  deliver,
  type End,
  IDLE,
  isOver,
  type Left,
  lapses,
  lookedAgain,
  type OperatorKind,
  type Sent,
  type State,
  type Variation,
  type WorkerName,
  type WorkerState,
} from './small-world.ts';

/** Everything that can happen next in the small world. */

export interface Step {
  readonly what: string;
  readonly next: State;
}

const NAMES: readonly WorkerName[] = ['w0', 'w1'];
const ENDS = ['complete', 'retry', 'release'] as const;

const withWorker = (state: State, name: WorkerName, worker: WorkerState): State => ({
  ...state,
  workers: { ...state.workers, [name]: worker },
});
const spend = (state: State, what: keyof Left): State => ({
  ...state,
  left: { ...state.left, [what]: state.left[what] - 1 },
});
const send = (state: State, sent: Omit<Sent, 'id' | 'sentAt'>): State => ({
  ...state,
  ids: state.ids + 1,
  net: [...state.net, { ...sent, id: state.ids, sentAt: state.now }],
});

export function steps(state: State, variation: Variation, horizon: number): Step[] {
  const found: Step[] = [];
  const add = (what: string, next: State) => found.push({ what, next });
  if (state.now < horizon) add('a tick passes', { ...state, now: state.now + 1 });
  for (const name of NAMES) workerSteps(state, name, add);
  for (const [i, sent] of state.net.entries()) {
    const without = { ...state, net: state.net.toSpliced(i, 1) };
    const name = `${sent.kind} ${sent.id}`;
    add(`${name} arrives`, deliver(without, sent, variation, false));
    if (state.left.faults === 0) continue;
    add(`${name} arrives, its reply is lost`, deliver(spend(without, 'faults'), sent, variation, true));
    add(`${name} arrives, and will again`, deliver(spend(state, 'faults'), sent, variation, false));
    add(`${name} is lost`, spend(without, 'faults'));
  }
  if (state.left.reaps > 0)
    for (const version of state.versions)
      if (lapses(state, version, variation))
        add('the reaper acts on what the index shows', reaps(state, version));
  if (state.left.operators > 0 && state.row?.status === 'running')
    for (const kind of ['takeBack', 'requestCancel'] as const)
      add(`an operator: ${kind}`, operates(state, kind, state.row));
  if (state.left.faults > 0 && state.messages > 0 && state.row !== undefined)
    add('a message is lost', spend({ ...state, messages: state.messages - 1 }, 'faults'));
  return found;
}

function workerSteps(state: State, name: WorkerName, add: (what: string, next: State) => void): void {
  const me = state.workers[name];
  if (me.phase === 'idle') {
    if (state.messages > 0 && state.left.claims > 0) add(`${name} claims`, claims(state, name));
    return;
  }
  if (state.left.faults > 0)
    add(`${name} dies, or gives up its claim`, spend(withWorker(state, name, IDLE), 'faults'));
  if (me.phase === 'restarting' && me.offered !== undefined && state.now < me.until && state.left.offers > 0)
    add(`${name} offers its restart again`, offersAgain(state, name, me.offered));
  if (me.phase !== 'running') return;
  if (me.isSaving) {
    // What it does next is decided by the counts that the row has by then.
    const looked = lookedAgain(me, state.row);
    add(`${name} looks what became of its checkpoint`, withWorker(state, name, looked));
    return;
  }
  if (believesLive(me, state.now) && state.left.deaths > 0)
    for (const isCharged of [true, false])
      add(
        `${name}: its cell dies, and it restarts the job, ${isCharged ? 'charged' : 'not charged'}`,
        restarts(state, name, isCharged),
      );
  const { owner, attempt, claimed } = me;
  if (believesLive(me, state.now) && state.left.saves > 0)
    add(
      `${name} saves`,
      send(spend(withWorker(state, name, { ...me, isSaving: true }), 'saves'), {
        ...{ kind: 'save', at: clockOf(state, name), owner, attempt, seen: claimed },
      }),
    );
  if (believesLive(me, state.now) && state.left.beats > 0)
    add(
      `${name} beats`,
      send(spend(state, 'beats'), { kind: 'heartbeat', at: clockOf(state, name), owner, attempt }),
    );
  // A result is offered even when the lease is gone; nothing else is.
  for (const end of ENDS)
    if (end === 'complete' || believesLive(me, state.now)) add(`${name}: ${end}`, ends(state, name, end));
}

function claims(state: State, name: WorkerName): State {
  const owner = `${name}/${state.ids}`;
  const claiming = withWorker(spend(state, 'claims'), name, { ...IDLE, phase: 'claiming', owner });
  return send(claiming, { kind: 'claim', at: clockOf(state, name), owner, attempt: 0 });
}

function restarts(state: State, name: WorkerName, isCharged: boolean): State {
  const me = state.workers[name];
  const offered: Omit<Sent, 'id' | 'sentAt'> = {
    ...{ kind: 'restart', at: clockOf(state, name), owner: me.owner, attempt: me.attempt },
    ...{ seen: me.claimed, nextOwner: `${name}/${state.ids}`, isCharged },
  };
  const sent = send(spend(state, 'deaths'), offered);
  const kept = state.left.offers > 0 ? { offered: sent.net.at(-1) as Sent } : undefined;
  return withWorker(sent, name, { ...me, phase: 'restarting', ...kept });
}

/** Under the same name, and with a lease from now on. */
const offersAgain = (state: State, name: WorkerName, { id: _, sentAt: __, ...offered }: Sent): State =>
  send(spend(state, 'offers'), { ...offered, at: clockOf(state, name) });

const operates = (state: State, kind: OperatorKind, seen: Row): State =>
  send(spend(state, 'operators'), { kind, at: clockOf(state, 'reaper'), owner: '', attempt: 0, seen });

function ends(state: State, name: WorkerName, kind: End): State {
  const { owner, attempt, claimed } = state.workers[name];
  return send(withWorker(state, name, IDLE), {
    ...{ kind, at: clockOf(state, name), owner, attempt },
    seen: claimed,
  });
}

const reaps = (state: State, seen: Row): State =>
  send(spend(state, 'reaps'), { kind: 'reap', at: clockOf(state, 'reaper'), owner: '', attempt: 0, seen });

const CALM = { beats: 0, faults: 0, deaths: 0, offers: 0, saves: 0, operators: 0 };

/** The next step of a world in which nothing goes wrong any more and everybody gets their turn; undefined at the end. */
export function fairStep(given: State, variation: Variation): State | undefined {
  const state = { ...given, left: { ...given.left, claims: 9, reaps: 9, ...CALM } };
  const [sent, ...rest] = state.net;
  if (sent !== undefined) return deliver({ ...state, net: rest }, sent, variation, false);
  if (isOver(state)) return undefined;
  for (const name of NAMES) {
    const { phase } = state.workers[name];
    // A claim that is no longer under way, and whose reply was lost, is given up.
    if (phase === 'claiming' || phase === 'restarting') return withWorker(state, name, IDLE);
    if (phase === 'running')
      return ends(withWorker(state, name, lookedAgain(state.workers[name], state.row)), name, 'complete');
  }
  if (state.messages > 0) return claims(state, 'w0');
  const { row } = state;
  return row !== undefined && lapses(state, row, variation)
    ? reaps(state, row)
    : { ...state, now: state.now + 1 };
}
