import { hash } from 'node:crypto';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { fairStep, type Step, steps } from './small-steps.ts';
import { SOUND, type State, start, type Variation } from './small-world.ts';

export interface Bounds {
  /** Ticks that may pass. */
  readonly horizon: number;
  readonly claims: number;
  readonly beats: number;
  readonly reaps: number;
  readonly faults: number;
  readonly deaths: number;
  readonly offers: number;
  readonly saves: number;
  readonly operators: number;
  /** What happened before. @default - nothing */
  readonly row?: Row;
}

export interface Exploration {
  readonly states: number;
  /** The steps that lead to the first broken promise. */
  readonly broken?: { readonly promise: string; readonly path: readonly string[] };
}

const LONGEST_FAIR_RUN = 200;

/** Visits every state that can be reached within the bounds, breadth first: the first broken promise has a shortest path. */
export function explore(bounds: Bounds, variation: Variation = SOUND): Exploration {
  const { horizon, row, ...left } = bounds;
  const first = start(left, row);
  const seen = new Map<string, { readonly from?: string; readonly what: string }>();
  const ends = new Set<string>();
  let frontier: [string, State][] = [[keyOf(first), first]];
  seen.set(keyOf(first), { what: 'start' });
  while (frontier.length > 0) {
    const next: [string, State][] = [];
    for (const [key, state] of frontier) {
      const promise = brokenFairly(state, key, variation, ends);
      if (promise !== undefined) return { states: seen.size, broken: { promise, path: pathTo(key, seen) } };
      for (const step of steps(state, variation, horizon)) {
        const stepKey = keyOf(step.next);
        if (seen.has(stepKey)) continue;
        seen.set(stepKey, { from: key, what: step.what });
        if (step.next.broken !== undefined)
          return { states: seen.size, broken: brokenBy(step, stepKey, seen) };
        next.push([stepKey, step.next]);
      }
    }
    frontier = next;
  }
  return { states: seen.size };
}

/** Two states that differ only in how their writes and claims are numbered, or in the order of the network, are one. */
function keyOf({ ids: _, ...state }: State): string {
  const order = state.net
    .map((sent) => ({ sent, shape: JSON.stringify({ ...sent, id: 0, owner: sent.owner.slice(0, 2) }) }))
    .sort((a, b) => (a.shape < b.shape ? -1 : 1));
  const text = JSON.stringify({ ...state, net: order.map(({ sent }) => sent) });
  const numbers = new Map<string, number>();
  const renumbered = text.replace(
    /("id":|"changedBy":"|w[01]\/)(\d+)/g,
    (_whole, before: string, id: string) => {
      const number = numbers.get(id) ?? numbers.size;
      numbers.set(id, number);
      return `${before}${number}`;
    },
  );
  // Millions of them are remembered: the digest is a fortieth of the text.
  return hash('sha1', renumbered, 'base64');
}

const brokenBy = (step: Step, key: string, seen: Parents) => ({
  promise: step.next.broken ?? '',
  path: pathTo(key, seen),
});

type Parents = ReadonlyMap<string, { readonly from?: string; readonly what: string }>;

function pathTo(key: string, seen: Parents): readonly string[] {
  const path: string[] = [];
  for (let at: string | undefined = key; at !== undefined; at = seen.get(at)?.from)
    path.unshift(seen.get(at)?.what ?? '');
  return path.slice(1);
}

/** What a fair continuation from here breaks, if anything. Runs meet, so that most are known after a step or two. */
function brokenFairly(from: State, key: string, variation: Variation, ends: Set<string>): string | undefined {
  const passed: string[] = [];
  let state: State = from;
  for (let at = key; !ends.has(at); at = keyOf(state)) {
    passed.push(at);
    const next = fairStep(state, variation);
    if (next === undefined) break;
    if (next.broken !== undefined) return next.broken;
    if (passed.length > LONGEST_FAIR_RUN) return 'the job never ends';
    state = next;
  }
  for (const each of passed) ends.add(each);
  return undefined;
}
