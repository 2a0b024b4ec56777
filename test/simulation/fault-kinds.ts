import type { SeededRandom } from '../support/random.ts';
import type { Size } from './scenario.ts';

/**
 * Everything that goes wrong in the simulation, with how likely it is at each point where it could. A seed switches a
 * random half of them off and makes some of the rest three times as likely: schedules with few kinds of faults, but many of
 * each, find more than schedules with a little of everything.
 */
export const faultKinds = {
  /** The request never arrives; the SDK notices by its timeout and sends it again. */
  requestLost: 0.03,
  /** The write is applied, but its reply never comes: the SDK's repeat meets its own effect. */
  replyLost: 0.06,
  /** The request is applied long after its sender gave up on it. */
  requestLate: 0.03,
  /** The reply comes just before the timeout. */
  replySlow: 0.06,
  throttled: 0.03,
  /** One statement of a batch is refused for load while its neighbours are applied. */
  statementThrottled: 0.1,
  /** A version of a row reaches the index only seconds later. */
  indexLags: 0.15,
  /** A process dies at the very await that it is in. */
  diesAtAwait: 0.006,
  dies: 0.25,
  /** SIGSTOP, or a frozen Lambda environment: nothing runs, clocks go on. */
  pauses: 0.25,
  /** As above, but the monotonic clock stands still meanwhile, as it does when a virtual machine is suspended. */
  suspends: 0.1,
  clockStepped: 0.1,
  /** A process cannot reach the table for a while. */
  partitioned: 0.1,
  shutDown: 0.1,
  messageDuplicated: 0.08,
  messageDelayed: 0.08,
  /** SQS refuses the send, and the sender is told. */
  sendFails: 0.05,
  /** The sender dies, or the queue forgets: nobody is told. */
  hintVanishes: 0.08,
  /** The message that starts the next reaper is lost, or comes before its time. */
  wakeVanishes: 0.1,
  wakeEarly: 0.1,
  /** The schedule starts no reaper this time; or Lambda has no room for it. */
  tickLost: 0.1,
  reaperThrottled: 0.1,
  deleteFails: 0.05,
  queuePurged: 0.05,
  handlerThrows: 0.2,
  handlerThrowsForGood: 0.03,
  /** The handler ignores its signal and offers its result long after the lease is gone. */
  handlerIgnoresSignal: 0.15,
  /** Of a cell if there is one, else of the whole worker. */
  handlerKillsProcess: 0.08,
  /** Somebody kills a cell, or it never gets ready; the host lives. */
  cellDies: 0.2,
  cellStartFails: 0.05,
  /** A handler blocks its cell's event loop, and whoever else is in the cell. */
  cellStalls: 0.2,
  /** What a cell says is heard only after a while, perhaps after its end. */
  cellHeardLate: 0.05,
  /** A cell that was killed goes on for a while. */
  killIsSlow: 0.2,
  /** The host is stopped and its cells are not: nobody renews their leases, and nobody tells them. */
  hostPausesAlone: 0.1,
  operatorCancels: 0.1,
  operatorRevives: 0.15,
  operatorTakesBack: 0.15,
  /** TTL removes data before its time. */
  dataVanishes: 0.05,
  /** Everybody is switched off for weeks; TTL goes on. Once in a schedule. */
  weeksPass: 0.05,
  /** A finished row is deleted and its producer sends the same job id again. */
  rowDeleted: 0.1,
  /** A message that leaves its job's terms open gets to the dead-letter queue before any worker claims its job. */
  deadLettered: 0.05,
} as const;

export type FaultKind = keyof typeof faultKinds;

/** How much likelier than usual each kind is in one schedule; 0 is never. */
export type FaultRates = Readonly<Record<FaultKind, number>>;

const allKinds = Object.keys(faultKinds) as FaultKind[];

/** The share of kinds that is switched off, and how much likelier the others get. */
const swarms: Readonly<
  Record<Size, { readonly off: number; readonly likelier: readonly [number, ...number[]] }>
> = {
  full: { off: 0.5, likelier: [0.5, 1, 3] },
  // A brief schedule comes to few points where something could go wrong: more often it does.
  brief: { off: 0.75, likelier: [1, 3, 9] },
  crowd: { off: 0.75, likelier: [0.5, 1, 3] },
  limited: { off: 0.75, likelier: [0.5, 1, 3, 6] },
};

/** Which faults one schedule suffers, and how often. */
export function swarm(random: SeededRandom, size: Size): FaultRates {
  const { off, likelier } = swarms[size];
  const rates: Partial<Record<FaultKind, number>> = {};
  for (const kind of allKinds) rates[kind] = random.chance(off) ? 0 : random.pick(likelier);
  return rates as FaultRates;
}

/** No faults at all, to which a few are then added. */
export const QUIET = Object.fromEntries(allKinds.map((kind) => [kind, 0])) as FaultRates;
