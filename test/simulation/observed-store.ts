import type { JobStore } from '../../lib/protocol/ports.ts';
import { ownerOfData } from '../../lib/protocol/rows/data-pointer.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { endOf, type SimulatedServer } from './simulated-server.ts';
import { createSimulatedTable, type ResultFilter, type SeenWrite } from './simulated-table.ts';
import type { Process } from './world.ts';

const POSITIVE = new Set(['claimed', 'written', 'extended', 'restarted']);
/** Outcomes of these may rest on an earlier write of the same claim: what they wanted is so, whichever call did it. */
const REPEATABLE = new Set([
  'complete',
  'completeMany',
  'heartbeat',
  'heartbeatMany',
  'checkpoint',
  'reject',
  'restart',
]);

/** Of the row of a limit, which others change meanwhile; limit-rules.ts judges them. */
const UNCOMPARED = new Set<string>(['admit', 'leave', 'check']);

/** Offered until they are answered. */
const ENDS = new Set(['retry', 'fail', 'release', 'parkClaim', 'cancelRunning']);

const verbs = [
  ...[
    'claim',
    'claimMany',
    'schedule',
    'scheduleMany',
    'heartbeat',
    'heartbeatMany',
    'checkpoint',
    'complete',
    'completeMany',
    'retry',
  ],
  ...['fail', 'release', 'releaseUnknown', 'cancelRunning', 'reject', 'reap', 'reapMany', 'restart'],
  ...['cancel', 'revive', 'takeBack', 'read'],
  ...['look', 'park', 'parkClaim', 'admit', 'waiting', 'leave', 'check'],
] as (keyof JobStore)[];

/** The real store for one process, with every answer compared to what really happened at the table. */
export function createObservedStore(
  process: Process,
  server: SimulatedServer,
  settings: Settings,
  filter?: ResultFilter,
): JobStore {
  const connect = (): Line => {
    const seen: SeenWrite[] = [];
    const store = createJobStore({
      table: createSimulatedTable(process, server, seen, filter),
      clock: process.clock,
      random: process.random,
      settings,
      actor: process.name,
    });
    return { seen, store };
  };
  const idle: Line[] = [];
  const call = (verb: keyof JobStore) => {
    return async (...given: unknown[]) => {
      const line = idle.pop() ?? connect();
      const { seen, store } = line;
      seen.length = 0;
      const result = await (store[verb] as (...given: unknown[]) => Promise<unknown>)(...given);
      const outcomes = Array.isArray(result) ? result : [result];
      for (const [i, outcome] of outcomes.entries()) {
        const ofJobs = seen.filter(isOfJob);
        const named = Array.isArray(result) ? (given[0] as readonly Named[])[i] : undefined;
        const entry = ofJobs.findLast(({ write }) => isAbout(named, write));
        if (entry !== undefined && !UNCOMPARED.has(verb))
          compare(process, server, verb, entry, outcome as { outcome: string });
      }
      idle.push(line);
      return result;
    };
  };
  const observed: Partial<Record<keyof JobStore, unknown>> = {};
  for (const verb of verbs) observed[verb] = call(verb);
  return observed as JobStore;
}

interface Named {
  readonly job?: { readonly jobId: string };
  readonly claim?: { readonly jobId: string; readonly owner: string };
  readonly entry?: { readonly jobId: string };
}

/** A worker that lost a claim without knowing it, and claimed the job again, names both claims in one call. */
function isAbout(named: Named | undefined, { jobId, when }: RowWrite): boolean {
  const id = (named?.job ?? named?.claim ?? named?.entry)?.jobId;
  const owner = when.flat().find(({ attribute }) => attribute === 'leaseOwner');
  const isOtherClaim =
    named?.claim !== undefined && owner?.is === 'equal' && owner.value !== named.claim.owner;
  return id === undefined || (id === jobId && !isOtherClaim);
}

/** What is told is told of the job: its data is written for it before, or extended after. */
const isOfJob = ({ write }: SeenWrite): boolean => ownerOfData(write.jobId) === undefined;

/** The store, and what it wrote in the call that uses it: calls at the same time need one each. */
interface Line {
  readonly seen: SeenWrite[];
  readonly store: JobStore;
}

function compare(
  { world, name }: Process,
  server: SimulatedServer,
  verb: string,
  { write, ...seen }: SeenWrite,
  { outcome }: { outcome: string },
): void {
  if (world.traced && !(verb === 'reapMany' && outcome === 'written'))
    world.note(name, `${verb} ${write.jobId}: ${outcome}`);
  const about = () => `${name} was told '${outcome}' of its ${write.transition} of ${write.jobId}`;
  const isEnd = ENDS.has(verb) && server.ends.has(endOf(write));
  if (POSITIVE.has(outcome)) {
    if (!seen.applied && !isEnd && !REPEATABLE.has(verb))
      world.violate(`${about()}, which was never applied`);
  } else if (outcome !== 'failed' && outcome !== 'withoutData') {
    if (seen.refusedByItself) world.violate(`${about()}, which was applied and stands`);
    if (isEnd) world.violate(`${about()}, which an earlier offer had ended`);
  }
}
