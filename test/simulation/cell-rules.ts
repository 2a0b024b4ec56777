import type { JobStore } from '../../lib/protocol/ports.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { claimAttribute } from '../../lib/wire/table.ts';
import type { Cells, Work } from '../../lib/worker/cells/cells.ts';
import type { ToCell } from '../../lib/worker/cells/channel.ts';
import type { CrashThrottle } from '../../lib/worker/run/crash-throttle.ts';
import type { LeaseClock } from '../../lib/worker/run/lease-clock.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { Run } from './judge.ts';
import type { Process, World } from './world.ts';

/** A handler that was begun, whoever believes what of it. */
interface Handler {
  readonly process: Process;
  readonly key: string;
}

type RunMessage = Extract<ToCell, { readonly kind: 'run' }>;

/** What a worker knows of its crash throttle, and what it should. */
interface CrashRecord {
  readonly jobs: Set<string>;
  heldFrom: number;
}

const ENDS = new Set(['complete', 'retry', 'fail', 'release', 'cancelRunning', 'restart']);
const BY_LAPSE = new Set(['reclaim', 'quarantine']);
/** By chance a wait can be nothing; twice it is a mistake. */
const MOST_WITHOUT_WAIT = 1;
/** Before its lease ends, a worker without trouble has time to store how its run ended. */
const TIME_TO_STORE_MS = 9000;
/** A cell's death is known, and its claim ended, long before this. */
const FORGOTTEN_MS = 120_000;
/** Somebody finds room in a cell, or a new one, sooner than this. */
const LONGEST_WAIT_MS = 3000;
const HOLDS_UP: readonly FaultKind[] = [
  ...(['pauses', 'suspends', 'hostPausesAlone', 'cellStalls', 'killIsSlow', 'cellStartFails'] as const),
];
/** Crashes from which a crash throttle pauses, and for how long at least. */
const CRASHES = 3;
const HOLDS_MS = 5000;

/** The host knows why it ended the cell, and that none of the others in it was the reason. */
const KNOWN_REASON = /killAfterMs|ended with its host|left behind/;

const keyOf = (jobId: unknown, attempt: unknown) => `${jobId}#${attempt}`;

/** What hosts owe to the jobs in their cells, told by what truly happened there. */
export class CellRules {
  readonly #world: World;
  readonly #settings: Settings;
  /** Handlers that live, in cells or beside their hosts. */
  readonly #alive = new Map<string, Handler>();
  /** Everybody who was ever in a cell. */
  readonly #guests = new Map<Process, Set<string>>();
  /** Attempts whose cell died, and that nobody else had used. */
  readonly #diedAlone = new Set<string>();
  /** Claims that were rightly charged a crash. The write may come again, and meet a row that the claim's own repeat made anew. */
  readonly #justlyCharged = new Set<unknown>();
  /** Attempts of whose handler's end the host has heard. */
  readonly #heard = new Set<string>();
  /** The cell to which each host gave each attempt last. */
  readonly #lastCell = new Map<string, Process>();
  readonly #diedAt = new Map<string, number>();
  /** Runs that ended by themselves, and until when at the latest their worker could begin to store that. */
  readonly #ended = new Map<string, { readonly host: Process; readonly storeBy: number }>();
  readonly #leases = new Map<string, LeaseClock>();
  readonly #stalledMs = new Map<Process, number>();
  readonly #waitingSince = new Map<string, number>();
  /** Jobs whose row was deleted: a zombie of the first life may have the number of a run of the second. */
  readonly #reborn = new Set<string>();
  /** Runs that a host has given to a cell, and runs that it was told to stop before. */
  readonly #handedOver = new Set<string>();
  readonly #stoppedWaiting = new Set<string>();
  readonly #convictions = new Map<string, CrashRecord>();
  #withoutWait = 0;
  /** Attempts whose cell died for an unknown reason, by the death, and how many died with each. */
  readonly #diedIn = new Map<string, string>();
  readonly #deaths = new Map<string, number>();
  /** How many may share a cell with an attempt. Absent where it is not marked. */
  readonly #mostInCell = new Map<string, number>();

  constructor(world: World, settings: Settings) {
    this.#world = world;
    this.#settings = settings;
  }

  /** A row that was deleted begins again at its first attempt. */
  forget(jobId: string): void {
    this.#reborn.add(jobId);
    for (const runs of [
      ...[this.#alive, this.#ended, this.#diedAt, this.#diedAlone, this.#leases],
      ...[this.#handedOver, this.#stoppedWaiting, this.#heard, this.#diedIn, this.#mostInCell],
    ])
      for (const key of [...runs.keys()]) if (key.startsWith(keyOf(jobId, ''))) runs.delete(key);
  }

  /** What a host has sent on its way to a cell at once. */
  sent(cell: Process, messages: readonly ToCell[]): void {
    for (const message of messages) if (message.kind === 'run') this.#handed(cell, message, messages);
  }

  #handed(cell: Process, { run, job: { jobId, attempt } }: RunMessage, messages: readonly ToCell[]): void {
    const key = keyOf(jobId, attempt);
    this.#handedOver.add(key);
    this.#lastCell.set(`${cell.machine.name} ${key}`, cell);
    // Told to stop after it was given a cell, and before anything was sent there, it hears of both together.
    const isTold = messages.some((message) => message.kind === 'abort' && message.run === run);
    if (this.#stoppedWaiting.has(key) && !isTold && !this.#reborn.has(jobId))
      this.#world.violate(`${jobId} was told to stop while it waited for a cell, and was given one`);
  }

  entered(cell: Process, { jobId, attempt }: { readonly jobId: string; readonly attempt: number }): void {
    const guests = this.#guests.get(cell) ?? new Set();
    this.#guests.set(cell, guests.add(keyOf(jobId, attempt)));
  }

  begun(process: Process, { jobId, attempt }: Run): void {
    const key = keyOf(jobId, attempt);
    const waited = this.#world.now - (this.#waitingSince.get(key) ?? this.#world.now);
    this.#waitingSince.delete(key);
    if (waited > LONGEST_WAIT_MS && !this.#hasSuffered(HOLDS_UP))
      this.#world.violate(`${jobId} waited ${waited} ms for a cell, and nothing stood in its way`);
    // A zombie of a row that was deleted since may have the number of a run of today.
    if (this.#alive.get(key)?.process.alive && !this.#reborn.has(jobId))
      this.#world.violate(`${jobId} is run by two handlers under one claim`);
    this.#alive.set(key, { process, key });
    if (isCell(process)) this.#judgeCellmates(process);
  }

  /** After an unexplained death jobs share cells only among themselves, fewer than before, and one of them alone in a fresh cell. */
  #judgeCellmates(cell: Process): void {
    const here = [...this.#alive.values()].filter(({ process }) => process === cell).map(({ key }) => key);
    const guests = this.#guests.get(cell) ?? new Set();
    if ([...here, ...guests].some((key) => this.#reborn.has(key.split('#')[0] ?? ''))) return;
    for (const key of here) {
      const most = this.#mostInCell.get(key);
      if (most === undefined) continue;
      if (here.length > most)
        this.#world.violate(`${key} shares its cell with ${here.length - 1}, and ${most} may be in it`);
      if (most === 1 && guests.size > 1) this.#world.violate(`${key} is not in a fresh cell`);
      const unmarked = here.find((other) => !this.#mostInCell.has(other));
      if (unmarked !== undefined) this.#world.violate(`${key} shares its cell with ${unmarked}, not marked`);
    }
  }

  /** A death is told to all of its jobs in the same instant. */
  #noteDeath(host: Process, key: string): void {
    const death = `${host.name} ${this.#world.now}`;
    this.#deaths.set(death, (this.#deaths.get(death) ?? 0) + 1);
    this.#diedIn.set(key, death);
  }

  #noteMark(before: Row | undefined, after: Row, { transition, jobId }: RowWrite): void {
    if (transition !== 'claim' && transition !== 'restart') return;
    const earlier = transition === 'restart' ? keyOf(jobId, before?.attempt) : '';
    const death = this.#diedIn.get(earlier);
    const died = death === undefined ? undefined : this.#deaths.get(death);
    const most =
      Number(after.crashes) > 0
        ? 1
        : died === undefined
          ? this.#mostInCell.get(earlier)
          : Math.ceil(died / 2);
    if (most !== undefined) this.#mostInCell.set(keyOf(jobId, after.attempt), most);
  }

  ended({ jobId, attempt, process }: Run): void {
    const key = keyOf(jobId, attempt);
    const handler = this.#alive.get(key);
    // A zombie of a row that was deleted since may have the number of a run of today.
    if (handler === undefined || handler.process !== process) return;
    this.#alive.delete(key);
    const remainingMs = this.#leases.get(key)?.remainingMs() ?? 0;
    if (remainingMs > TIME_TO_STORE_MS)
      this.#ended.set(key, {
        host: handler.process.machine,
        storeBy: this.#world.now + remainingMs - TIME_TO_STORE_MS,
      });
  }

  died(cell: Process): void {
    const guests = this.#guests.get(cell) ?? new Set();
    // Also one whose handler had ended: its last message may have died with the cell, and then its host cannot tell that from a handler
    // that died. To charge nobody would let a job live for ever that kills its cell a moment after its handler has returned.
    if (guests.size === 1) for (const key of guests) this.#diedAlone.add(key);
    for (const { process, key } of this.#alive.values()) {
      if (process !== cell) continue;
      this.#alive.delete(key);
      this.#diedAt.set(key, this.#world.now);
    }
  }

  /** A handler blocks its cell, while its host could look. */
  stalled(cell: Process, ms: number): void {
    this.#stalledMs.set(cell, (this.#stalledMs.get(cell) ?? 0) + ms);
  }

  /** The same cells, which tell how long jobs wait for them and why the host killed one. */
  watchCells(host: Process, cells: Cells): Cells {
    return {
      ...cells,
      start: (work) => {
        const key = keyOf(work.job.jobId, work.job.attempt);
        this.#waitingSince.set(key, this.#world.now);
        this.#leases.set(key, work.lease);
        const run = cells.start(work);
        const end = run.end.then((ended) => {
          this.#waitingSince.delete(key);
          if (ended.kind === 'returned' || ended.kind === 'threw') this.#heard.add(key);
          if (ended.kind === 'died' && ended.cause.includes('blocked the event loop'))
            this.#judgeStall(host, work);
          if (ended.kind === 'died' && !KNOWN_REASON.test(ended.cause)) this.#noteDeath(host, key);
          return ended;
        });
        const abort: typeof run.abort = (reason) => {
          if (!this.#handedOver.has(key)) this.#stoppedWaiting.add(key);
          run.abort(reason);
        };
        return { ...run, end, abort };
      },
    };
  }

  /** The same crash throttle, whose pauses are compared with the recorded crashes. */
  watchCrashThrottle(host: Process, crashThrottle: CrashThrottle): CrashThrottle {
    const mine: CrashRecord = { jobs: new Set(), heldFrom: Number.NEGATIVE_INFINITY };
    this.#convictions.set(host.name, mine);
    const judged = (ms: number): number => {
      if (ms > 0 && mine.jobs.size < CRASHES)
        this.#world.violate(`${host.name} holds its crash throttle for ${[...mine.jobs]}, which are too few`);
      return ms;
    };
    return {
      recordSuccess(type) {
        mine.jobs.clear();
        mine.heldFrom = Number.NEGATIVE_INFINITY;
        crashThrottle.recordSuccess(type);
      },
      recordCrash: (job) => {
        mine.jobs.add(job.jobId);
        if (mine.jobs.size >= CRASHES) mine.heldFrom = this.#world.now;
        crashThrottle.recordCrash(job);
      },
      typePausedMs: (type) => judged(crashThrottle.typePausedMs(type)),
      hostPausedMs: () => judged(crashThrottle.hostPausedMs()),
    };
  }

  /**
   * The same store, whose claims are compared with the crash throttle at the moment in which their worker decided on them: then it asks the
   * crash throttle, and no reply that is slow or lost is an excuse. Jobs are decided on together, and a second message for one of them is
   * claimed only after the others were answered: what follows at once on another claim was decided on with it.
   */
  watchClaims(host: Process, store: JobStore): JobStore {
    const { claim, claimMany } = store;
    let underWay = 0;
    let endedAt = Number.NEGATIVE_INFINITY;
    const judged = async <T>(ask: () => Promise<T>): Promise<T> => {
      if (underWay === 0 && endedAt !== this.#world.now) this.#judgeClaim(host);
      underWay += 1;
      try {
        return await ask();
      } finally {
        underWay -= 1;
        endedAt = this.#world.now;
      }
    };
    return {
      ...store,
      claim: (request) => judged(() => claim(request)),
      claimMany: (requests) => judged(() => claimMany(requests)),
    };
  }

  /** What a write says of the cells. */
  problems(before: Row | undefined, after: Row, write: RowWrite): string[] {
    this.#noteMark(before, after, write);
    if (write.transition === 'claim' || before === undefined) return [];
    const key = keyOf(write.jobId, before.attempt);
    const problems: string[] = [];
    const handler = this.#alive.get(key);
    if (ENDS.has(write.transition) && handler?.process.alive && isCell(handler.process))
      problems.push('its claim was ended while its handler still lives in a cell');
    if (ENDS.has(write.transition) && Number(after.crashes) > Number(before.crashes)) {
      if (this.#diedAlone.has(key)) this.#justlyCharged.add(before.leaseOwner);
      else if (!this.#justlyCharged.has(before.leaseOwner))
        problems.push('a crash was charged to a job that was not alone in a fresh cell');
      if (this.#heard.has(key)) problems.push('a crash was charged though its host had heard of its end');
    }
    const diedAt = this.#diedAt.get(key);
    if (write.transition === 'heartbeat' && diedAt !== undefined && this.#world.now - diedAt > FORGOTTEN_MS)
      problems.push(`its lease is renewed ${this.#world.now - diedAt} ms after its cell died`);
    if (BY_LAPSE.has(write.transition) && before.status === 'running')
      problems.push(...this.#lapseProblems(key));
    if (write.transition === 'reclaim') problems.push(...this.#waitProblems(after));
    return problems;
  }

  /** From the second lapse on, jobs that were lost together run again at different times. */
  #waitProblems(after: Row): string[] {
    const { to } = after[claimAttribute(Number(after.attempt))] as { readonly to: number };
    if (Number(after.lapses) >= 2 && after.notBefore === to) this.#withoutWait += 1;
    return this.#withoutWait > MOST_WITHOUT_WAIT ? ['lost again and again, and runs again at once'] : [];
  }

  #lapseProblems(key: string): string[] {
    const ended = this.#ended.get(key);
    if (ended === undefined || !ended.host.alive || ended.host.leaving) return [];
    const { troubledAt, pausedUntil, partitionedUntil } = ended.host;
    return Math.max(troubledAt, pausedUntil, partitionedUntil) > ended.storeBy
      ? []
      : ['it lapsed, though its run had ended and its worker could have stored that'];
  }

  #judgeClaim(host: Process): void {
    const { heldFrom } = this.#convictions.get(host.name) ?? { heldFrom: Number.NEGATIVE_INFINITY };
    const sinceMs = this.#world.now - heldFrom;
    if (sinceMs > 0 && sinceMs < HOLDS_MS)
      this.#world.violate(`claimed by ${host.name}, whose cells keep dying, for ${sinceMs} ms`);
  }

  #judgeStall(host: Process, { job }: Work): void {
    const key = keyOf(job.jobId, job.attempt);
    // It was killed in the cell that it was given last. Another that it had been given before, and not begun in, is no excuse.
    const last = this.#lastCell.get(`${host.name} ${key}`);
    if (last === undefined) return;
    // A row that was deleted begins again at its first attempt: a host can have two jobs by this name.
    const cells = this.#reborn.has(job.jobId) ? this.#deadCellsOf(key) : [last];
    const stalledMs = Math.max(...cells.map((cell) => this.#stalledMs.get(cell) ?? 0));
    if (stalledMs < this.#settings.maxStallMs)
      this.#world.violate(`${job.jobId}: its cell was killed as stalled, and was so for ${stalledMs} ms`);
  }

  #deadCellsOf(key: string): Process[] {
    return [...this.#guests.keys()].filter((cell) => !cell.alive && this.#guests.get(cell)?.has(key));
  }

  #hasSuffered(kinds: readonly FaultKind[]): boolean {
    return kinds.some((kind) => (this.#world.faultCounts[kind] ?? 0) > 0);
  }
}

const isCell = (process: Process): boolean => process.machine !== process;
