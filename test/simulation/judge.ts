import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { SCHEDULE_JITTER_MS } from '../../lib/settings/recovery-bound.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { CONTROL_KEY, isLimitRow, type Limit } from '../../lib/wire/limits.ts';
import { LEADER_KEY } from '../../lib/wire/table.ts';
import { CellRules } from './cell-rules.ts';
import { DataRules } from './data-rules.ts';
import { LimitRules } from './limit-rules.ts';
import { budgetProblems, shapeProblems, unchangingProblems } from './row-rules.ts';
import { SLOWEST_PROPAGATION_MS } from './simulated-server.ts';
import type { World } from './world.ts';

/** One handler's run under a claim, as the worker itself believes it to be. */
export interface Run {
  readonly jobId: string;
  readonly attempt: number;
  readonly process: { readonly name: string; readonly isAwake: boolean };
  /** Whether the handler has not been told to stop. */
  believesLive(): boolean;
}

/** What the judge remembers of a job besides its row: what truly happened. */
interface Life {
  holder: { readonly owner: string; readonly attempt: number } | undefined;
  completions: number;
  attemptAtRevival: number;
  /** Errors after which running again was pointless. */
  endedForGood: boolean;
  lostData: boolean;
  /** When the row was last written: a claim can arrive so late that its lease has ended before it begins. */
  changedAt: number;
  readonly granted: Set<string>;
  /** Handlers at work, told to stop or not. */
  readonly runs: Set<Run>;
  /** Attempts that an operator ended while their worker was well: it learns of it by its next heartbeat. */
  readonly takenBack: Set<number>;
}

/** No simulated job may be leased, to a worker or to the queue, for longer than this. */
const LONGEST_LEASE_MS = 30 * 60_000;
/** A paused type’s jobs. */
const LONGEST_PAUSE_MS = 4 * 3_600_000 + 60_000;
/** Requests, sweeps of others, and a lead that has to run out first. */
const SLACK_MS = 30_000;

const FENCED = new Set([
  'heartbeat',
  'checkpoint',
  'complete',
  'retry',
  'fail',
  'release',
  'cancelRunning',
  'releaseUnknown',
  'restart',
  'parkClaim',
]);
const BY_LAPSE = new Set(['reclaim', 'quarantine', 'finishCancel']);
const FINISHED = new Set(['done', 'failed', 'cancelled']);

/** Watches every write that the table takes and says which promise it breaks. */
export class Judge {
  readonly accepted = new Map<string, { notBefore: number }>();
  readonly counts: Record<string, number> = {};
  /** From the end of a lease to the reaper's act, while nothing goes wrong: skew, the next look and its writes. */
  readonly latestRecoveryMs: number;
  readonly #world: World;
  readonly #settings: Settings;
  readonly #lives = new Map<string, Life>();
  readonly #data: DataRules;
  readonly cells: CellRules;
  readonly limits: LimitRules;
  /** Calls of operators whose answer has not come. They name an id, whichever row it has by the time they get there. */
  readonly #cancelsUnderWay = new Map<string, number>();

  constructor(world: World, settings: Settings, limit?: Limit) {
    this.#world = world;
    this.#settings = settings;
    this.#data = new DataRules(settings.rowRetentionMs);
    this.cells = new CellRules(world, settings);
    this.limits = new LimitRules(world, settings, limit);
    this.latestRecoveryMs =
      settings.skewMs * 2 +
      settings.reaperIntervalMs +
      SCHEDULE_JITTER_MS +
      SLOWEST_PROPAGATION_MS +
      SLACK_MS;
  }

  /** A producer's message is in the queue: from here on the job must not be lost. Of several, the first to be read wins. */
  accept(jobId: string, notBefore: number): void {
    const before = this.accepted.get(jobId);
    this.accepted.set(jobId, { notBefore: Math.min(notBefore, before?.notBefore ?? notBefore) });
  }

  /** The row was deleted by hand; what comes under its id is another job. */
  forget(jobId: string): void {
    const { lostData } = this.#life(jobId);
    this.#lives.delete(jobId);
    // A claim that was sent before may still come, and bring a pointer to what was lost.
    this.#life(jobId).lostData = lostData;
    this.#data.forget(jobId);
    this.cells.forget(jobId);
    this.accepted.delete(jobId);
  }

  /** An operator asks for the end of a job; returns what to call once the answer is there. */
  cancelIsWanted(jobId: string): () => void {
    const change = (by: number) =>
      this.#cancelsUnderWay.set(jobId, (this.#cancelsUnderWay.get(jobId) ?? 0) + by);
    change(1);
    return () => {
      change(-1);
    };
  }

  begin(run: Run): void {
    this.#life(run.jobId).runs.add(run);
    this.limits.begun(run, (group) => this.#runsHolding(group));
  }

  /** Handlers whose claims hold their rows, of all jobs in a group. */
  #runsHolding(group: string): number {
    let count = 0;
    for (const [jobId, { holder, runs }] of this.#lives)
      if (this.limits.groupOf(jobId) === group)
        for (const { attempt } of runs) if (holder?.attempt === attempt) count += 1;
    return count;
  }

  end(run: Run): void {
    for (const life of this.#lives.values()) life.runs.delete(run);
  }

  gaveUpForGood(jobId: string): void {
    this.#life(jobId).endedForGood = true;
  }

  /** TTL took data before its time: its job fails with the reason, if it needs them again. */
  dataVanished(jobId: string): void {
    this.#life(jobId).lostData = true;
  }

  /** Called by the table for each write that it applied, in order. `write` is as the core meant it. */
  observe(before: Row | undefined, after: Row, write: RowWrite): void {
    if (write.jobId === LEADER_KEY || write.jobId === CONTROL_KEY) return;
    this.counts[write.transition] = (this.counts[write.transition] ?? 0) + 1;
    if (isLimitRow(write.jobId)) {
      this.limits.groupWritten(before, after, write);
      return;
    }
    const ofData = this.#data.dataProblems(before, after, write, this.#world.now);
    if (ofData !== undefined) {
      if (ofData[0] !== undefined) this.#world.violate(`${write.transition} of ${write.jobId}: ${ofData[0]}`);
      return;
    }
    if (this.#world.traced) this.#trace(before, after, write);
    const life = this.#life(write.jobId);
    const problems = [
      ...this.#data.pointerProblems(after, this.#world),
      ...unchangingProblems(before, after, write),
      ...shapeProblems(after),
      ...budgetProblems(before, after, { ...life, maxLapses: this.#settings.maxLapses }),
      ...this.#transitionProblems(life, before, after, write),
      ...this.cells.problems(before, after, write),
      ...this.limits.rowProblems(before, after, write),
    ];
    const [first] = problems;
    if (first !== undefined) this.#world.violate(`${write.transition} of ${write.jobId}: ${first}`);
    this.#remember(life, after, write);
  }

  #transitionProblems(life: Life, before: Row | undefined, after: Row, write: RowWrite): string[] {
    const { transition } = write;
    if (transition === 'claim') return this.#claimProblems(life, before, write);
    if (FENCED.has(transition)) return staleProblems(life, write);
    if (BY_LAPSE.has(transition) && before?.status === 'running') return this.#lapseProblems(life, before);
    const isWanted = (this.#cancelsUnderWay.get(write.jobId) ?? 0) > 0 || before?.cancelRequested === true;
    return after.status === 'cancelled' && !isWanted ? ['cancelled though nobody asks for it'] : [];
  }

  #claimProblems(life: Life, before: Row | undefined, write: RowWrite): string[] {
    const problems: string[] = [];
    const owner = String(write.set.leaseOwner);
    const due = Math.max(
      typeof before?.notBefore === 'number' ? before.notBefore : 0,
      before === undefined ? (this.accepted.get(write.jobId)?.notBefore ?? 0) : 0,
    );
    // The claim's clock may be ahead by half the skew, and the condition allows one skew more.
    const earlyMs = due - this.#world.now;
    if (earlyMs > this.#settings.skewMs * 1.5) problems.push(`claimed ${earlyMs} ms too early`);
    if (before !== undefined && before.status !== 'pending') problems.push(`claimed while ${before.status}`);
    if (before?.cancelRequested === true) problems.push('claimed although it is to be cancelled');
    if (life.granted.has(owner)) problems.push(`one claim was granted a lease twice (${owner})`);
    const rival = liveRun(life);
    if (rival !== undefined)
      problems.push(
        `two live leases: ${owner} got one while ${rival.process.name} still works as attempt ${rival.attempt}`,
      );
    if (!this.accepted.has(write.jobId)) problems.push('claimed a job that no producer sent');
    return problems;
  }

  #lapseProblems(life: Life, before: Row): string[] {
    const live = liveRun(life);
    if (live !== undefined && live.attempt === before.attempt)
      return [`lease taken from ${before.leaseOwner}, which still rightly works under it`];
    return [];
  }

  #remember(life: Life, after: Row, write: RowWrite): void {
    life.changedAt = this.#world.now;
    switch (write.transition) {
      case 'claim':
      case 'restart':
        life.granted.add(String(write.set.leaseOwner));
        life.holder = { owner: String(after.leaseOwner), attempt: Number(after.attempt) };
        break;
      case 'complete':
        life.completions++;
        if (life.completions > 1) this.#world.violate(`${write.jobId} completed twice`);
        break;
      case 'takeBack':
        life.takenBack.add(Number(after.attempt));
        break;
      case 'revive':
        life.attemptAtRevival = Number(after.attempt);
        life.endedForGood = false;
        break;
    }
    if (after.status !== 'running') life.holder = undefined;
  }

  /** After everything came to rest: whether each accepted job ended, and for a reason that is allowed. */
  judgeTheEnd(rows: ReadonlyMap<string, Row>): void {
    for (const jobId of this.accepted.keys()) {
      const row = rows.get(jobId);
      if (row === undefined || !FINISHED.has(String(row.status)))
        this.#world.violate(`${jobId} is still ${row?.status ?? 'without a row'} at the end`);
      else if (row.status === 'done' && this.#data.textOf(row, 'result') !== String(row.attempt))
        this.#world.violate(`${jobId} is done by attempt ${row.attempt} with the result of ${row.result}`);
      else if (row.status === 'failed' && !this.#mayFail(jobId, row))
        this.#world.violate(`${jobId} failed with budget left: ${row.lastError}`);
    }
  }

  /** In calm: a job that nobody can find any more, or whose lease ended longer ago than a reaper may take. */
  judgeTheCalm(rows: ReadonlyMap<string, Row>, hasMessage: (jobId: string) => boolean): void {
    this.limits.judgeTheCalm(rows);
    for (const jobId of this.accepted.keys()) {
      const row = rows.get(jobId);
      if (row === undefined && !hasMessage(jobId))
        this.#world.violate(`${jobId} was accepted and has neither row nor message`);
      if (row === undefined || FINISHED.has(String(row.status))) continue;
      const overdueMs = this.#world.now - Math.max(Number(row.leaseUntil), this.#life(jobId).changedAt);
      if (overdueMs > this.latestRecoveryMs)
        this.#world.violate(
          `${jobId} is ${row.status}; its lease ended ${overdueMs} ms ago and nobody has acted`,
        );
      if (-overdueMs > (String(row.waitsFor).startsWith('pause:') ? LONGEST_PAUSE_MS : LONGEST_LEASE_MS))
        this.#world.violate(
          `${jobId} is ${row.status} and nobody has acted: its lease ends in ${-overdueMs} ms`,
        );
    }
  }

  allEnded(rows: ReadonlyMap<string, Row>): boolean {
    for (const jobId of this.accepted.keys())
      if (!FINISHED.has(String(rows.get(jobId)?.status ?? 'absent'))) return false;
    return true;
  }

  #mayFail(jobId: string, row: Row): boolean {
    const [errors, crashes, releases] = [Number(row.errors), Number(row.crashes), Number(row.releases)];
    const life = this.#life(jobId);
    return (
      life.endedForGood ||
      (life.lostData && String(row.lastError).startsWith('MissingDataError')) ||
      errors + crashes >= Number(row.maxAttempts) ||
      crashes >= Number(row.maxCrashes) ||
      Number(row.lapses) >= Math.min(this.#settings.maxLapses, Number(row.maxAttempts)) ||
      releases >= this.#settings.maxReleases
    );
  }

  #life(jobId: string): Life {
    let life = this.#lives.get(jobId);
    if (life === undefined) {
      life = {
        holder: undefined,
        completions: 0,
        attemptAtRevival: 0,
        endedForGood: false,
        lostData: false,
        changedAt: 0,
        granted: new Set(),
        runs: new Set(),
        takenBack: new Set(),
      };
      this.#lives.set(jobId, life);
    }
    return life;
  }

  #trace(before: Row | undefined, after: Row, write: RowWrite): void {
    const lease =
      typeof after.leaseUntil === 'number' ? `, lease ends in ${after.leaseUntil - this.#world.now} ms` : '';
    this.#world.note(
      'table',
      `${write.jobId}: ${write.transition} by ${write.set.changedBy}: ${before?.status ?? 'absent'} → ${after.status}, attempt ${after.attempt}, e${after.errors} c${after.crashes} l${after.lapses} r${after.releases}${lease}`,
    );
  }
}

/** A paused worker cannot act on what it believes: on waking it looks at the clock before anything else. */
function liveRun({ runs, takenBack }: Life): Run | undefined {
  for (const run of runs)
    if (run.process.isAwake && run.believesLive() && !takenBack.has(run.attempt)) return run;
  return undefined;
}

/** Whose write it was is read from what the core meant to demand, not from what a planted bug left of it. */
function staleProblems(life: Life, write: RowWrite): string[] {
  const clauses = write.when[0] ?? [];
  const wanted = (attribute: string) =>
    clauses.find((clause) => clause.attribute === attribute && clause.is === 'equal');
  const owner = wanted('leaseOwner');
  const attempt = wanted('attempt');
  const { holder } = life;
  const isHolder =
    holder !== undefined &&
    owner?.is === 'equal' &&
    owner.value === holder.owner &&
    (attempt === undefined || (attempt.is === 'equal' && attempt.value === holder.attempt));
  return isHolder
    ? []
    : [
        `a stale write is visible: by ${owner?.is === 'equal' ? owner.value : '?'}, holder ${holder?.owner ?? 'none'}`,
      ];
}
