import { describe, expect, it } from 'vitest';
import { clauseHolds, rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import { scheduleNextWrite } from '../../lib/protocol/writes/reaper-row-writes.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { BACKUP_MS, partOf, type Trigger } from '../../lib/reaper/wake.ts';
import { atDepth } from '../support/depth.ts';

/**
 * Every state that the chain of reapers can get into within some seconds: by the real decision of a tick and the real write of
 * a promise, with messages that are lost, doubled, late and early, ticks and wakes that are throttled, reapers that die between
 * any two steps or learn nothing of their own promise, and a reaper in a process that takes over and dies.
 */
const STEP_MS = 3000;
const PAUSE_MS = 6000;
const SETTINGS = { minLeaseMs: PAUSE_MS, skewMs: 0, minSweepIntervalMs: 0 };

interface Message {
  readonly token: string;
  readonly at: number;
}
interface Run {
  readonly seen: string | undefined;
  /** The message that started it, which comes back if it dies. */
  readonly message: string | undefined;
  /** Of the message that it has sent. */
  readonly token: string | undefined;
  /** When the next sweep is to be. */
  readonly wakeAt: number;
  readonly holder: 'function' | 'process';
}
interface State {
  readonly now: number;
  readonly row: Row | undefined;
  readonly messages: readonly Message[];
  readonly runs: readonly Run[];
  readonly tokens: number;
  readonly ticks: number;
  readonly faults: number;
  /** The queue lost a message, or delivered one before the row named it. */
  readonly lost: boolean;
  /** Somebody promised the next sweep and died before its own. */
  readonly skipped: boolean;
}

/** Where a bug gets in. */
interface Variation {
  readonly checksToken: boolean;
  readonly tickMends: boolean;
  /** The message is sent before the row names it. */
  readonly sendsFirst: boolean;
  /** A message is gone for good only when its reaper has ended well. */
  readonly comesBack: boolean;
  /** A reaper sweeps before it promises the next sweep. */
  readonly sweepsFirst: boolean;
}
const SOUND: Variation = {
  checksToken: true,
  tickMends: true,
  sendsFirst: true,
  comesBack: true,
  sweepsFirst: true,
};

const promiseOf = ({ row }: State) => ({
  wake: typeof row?.wake === 'string' ? row.wake : undefined,
  wakeAt: typeof row?.wakeAt === 'number' ? row.wakeAt : undefined,
  holder: typeof row?.holder === 'string' ? row.holder : undefined,
});
const wakeOf = (state: State) => promiseOf(state).wake;
const without = <T>(list: readonly T[], index: number): T[] => list.filter((_, i) => i !== index);

function started(state: State, message: string | undefined, { checksToken, tickMends }: Variation): State {
  const wake = wakeOf(state);
  const isTick = message === undefined;
  if (!isTick && checksToken && message !== wake)
    return { ...state, lost: state.lost || state.runs.some(({ token }) => token === message) };
  const arms =
    !isTick || (tickMends && partOf(promiseOf(state), { kind: 'tick' }, state.now, SETTINGS) === 'keeps');
  // On the first tick there is nothing to mend.
  if (!arms && !(isTick && wake === undefined)) return state;
  const run = { seen: wake, message, token: undefined, wakeAt: state.now + PAUSE_MS } as const;
  return { ...state, runs: [...state.runs, { ...run, holder: 'function' }] };
}

/** A process looks by itself. */
function lookedBy(state: State): State | undefined {
  const trigger: Trigger = { kind: 'timer', name: 'process' };
  if (partOf(promiseOf(state), trigger, state.now, SETTINGS) !== 'keeps') return undefined;
  const run = { seen: wakeOf(state), message: undefined, token: undefined } as const;
  return { ...state, runs: [...state.runs, { ...run, wakeAt: state.now + PAUSE_MS, holder: 'process' }] };
}

/** The reaper's next step: it sends its message, or names it on the row. */
function stepped(state: State, index: number, copies: number, { sendsFirst }: Variation): State {
  const run = state.runs[index] as Run;
  const isFirst = run.token === undefined;
  const token = run.token ?? `t${state.tokens}`;
  const next: State = {
    ...state,
    tokens: isFirst ? state.tokens + 1 : state.tokens,
    runs: isFirst
      ? state.runs.map((each, i) => (i === index ? { ...run, token } : each))
      : without(state.runs, index),
  };
  if (isFirst === sendsFirst) {
    const at = run.wakeAt + (run.holder === 'process' ? BACKUP_MS : 0);
    const sent = Array.from({ length: copies }, () => ({ token, at }));
    return { ...next, lost: state.lost || copies === 0, messages: [...state.messages, ...sent] };
  }
  const write = scheduleNextWrite(
    { wake: token, wakeAt: run.wakeAt, holder: run.holder, term: 1, gaugedAt: 0, wholeAt: 0 },
    { seen: run.seen, now: state.now, shards: 1 },
  );
  const holds = write.when.some((all) => all.every((clause) => clauseHolds(clause, state.row)));
  return { ...next, row: holds ? rowAfter(write, state.row) : state.row };
}

function* nexts(state: State, horizonMs: number, variation: Variation): Generator<State> {
  if (state.now < horizonMs) yield { ...state, now: state.now + STEP_MS };
  if (state.ticks > 0) yield started({ ...state, ticks: state.ticks - 1 }, undefined, variation);
  const hurt = { ...state, faults: state.faults - 1 };
  if (state.faults > 0) {
    // A tick that Lambda drops, and a reaper in a process.
    if (state.ticks > 0) yield { ...hurt, ticks: state.ticks - 1 };
    const taken = lookedBy(hurt);
    if (taken !== undefined) yield taken;
  }
  for (const [i, { token, at }] of state.messages.entries()) {
    const taken = { messages: without(state.messages, i) };
    if (at <= state.now) yield started({ ...state, ...taken }, token, variation);
    else if (state.faults > 0) yield started({ ...hurt, ...taken }, token, variation);
    // Throttled: it comes back.
    if (at <= state.now && state.faults > 0)
      yield { ...hurt, messages: [...taken.messages, { token, at: state.now + STEP_MS }] };
  }
  for (const [i, run] of state.runs.entries()) {
    yield stepped(state, i, 1, variation);
    if (state.faults === 0) continue;
    // Lost, or doubled.
    if (run.token === undefined) yield* [stepped(hurt, i, 0, variation), stepped(hurt, i, 2, variation)];
    const comesBack = run.message !== undefined && variation.comesBack;
    const back = comesBack ? [{ token: run.message, at: state.now + STEP_MS }] : [];
    yield { ...hurt, runs: without(state.runs, i), messages: [...state.messages, ...back] };
    // Its promise stands, and it does not know: the invocation fails.
    const armed = run.token === undefined ? undefined : stepped(hurt, i, 1, variation);
    if (armed !== undefined)
      yield { ...armed, messages: [...armed.messages, ...back], skipped: !variation.sweepsFirst };
  }
}

/** What everybody does who gets their turn: reapers go on, messages come when they are due, and a tick now and then. */
function fairEnd(from: State, variation: Variation): State {
  let state: State = { ...from, faults: 0, ticks: 0 };
  for (let round = 0; round < 16; round++) {
    for (const _ of [...state.runs, ...state.runs])
      if (state.runs.length > 0) state = stepped(state, 0, 1, variation);
    const due = state.messages.findIndex(({ at }) => at <= state.now);
    if (due >= 0)
      state = started(
        { ...state, messages: without(state.messages, due) },
        state.messages[due]?.token,
        variation,
      );
    else if (round % 4 === 3) state = started(state, undefined, variation);
    else state = { ...state, now: state.now + STEP_MS };
  }
  while (state.runs.length > 0) state = stepped(state, 0, 1, variation);
  return state;
}

/** The same but for how tokens are numbered. */
function keyOf({ tokens: _, ...state }: State): string {
  const names = new Map<string, string>();
  const sorted = { ...state, messages: [...state.messages].sort((a, b) => a.at - b.at) };
  return JSON.stringify(sorted).replace(/t\d+/g, (token) => {
    if (!names.has(token)) names.set(token, `#${names.size}`);
    return names.get(token) ?? token;
  });
}

/** The message that the row names is still to come or is being worked on, unless the queue lost one. */
function isKept(state: State): boolean {
  const wake = wakeOf(state);
  if (wake === undefined || state.lost) return true;
  return (
    state.messages.some(({ token }) => token === wake) || state.runs.some(({ message }) => message === wake)
  );
}

function explore(bounds: { horizonMs: number; ticks: number; faults: number }, variation: Variation) {
  const first: State = {
    now: 0,
    row: undefined,
    messages: [],
    runs: [],
    tokens: 0,
    lost: false,
    skipped: false,
    ...bounds,
  };
  const seen = new Set([keyOf(first)]);
  const frontier: State[] = [first];
  for (let state = frontier.pop(); state !== undefined; state = frontier.pop()) {
    if (state.skipped) return { states: seen.size, broken: 'a sweep was skipped' };
    if (!isKept(state)) return { states: seen.size, broken: 'a promise without a message' };
    const end = fairEnd(state, variation);
    const live = end.messages.filter(({ token }) => token === wakeOf(end)).length;
    if (live === 0) return { states: seen.size, broken: 'no reaper is coming' };
    if (end.messages.length > 1) return { states: seen.size, broken: 'two chains' };
    for (const next of nexts(state, bounds.horizonMs, variation)) {
      const key = keyOf(next);
      if (seen.has(key)) continue;
      seen.add(key);
      frontier.push(next);
    }
  }
  return { states: seen.size, broken: undefined };
}

describe('every state of the chain of reapers', () => {
  const bounds = { horizonMs: atDepth(3, 4) * STEP_MS, ticks: 2, faults: 2 };
  /** One fault at a time; any two of them in the deep run. */
  const faults = atDepth(1, 2);

  it('leads to one chain, once everybody gets their turn', () => {
    const { states, broken } = explore({ ...bounds, faults }, SOUND);
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
    console.info(`visited ${states} states`);
  });

  it.each<[string, Partial<Variation>, string]>([
    ['any message counts', { checksToken: false }, 'two chains'],
    ['a tick leaves a broken chain alone', { tickMends: false }, 'no reaper is coming'],
    ['the row names a message before it is sent', { sendsFirst: false }, 'a promise without a message'],
    ['a reaper promises the next sweep before its own', { sweepsFirst: false }, 'a sweep was skipped'],
    ['a message is gone before its reaper has ended', { comesBack: false }, 'a promise without a message'],
  ])('shows what breaks when %s', (_, change, broken) => {
    expect(explore(bounds, { ...SOUND, ...change }).broken).toBe(broken);
  });
});
