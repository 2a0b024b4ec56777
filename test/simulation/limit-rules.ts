import type { JobStore } from '../../lib/protocol/ports.ts';
import { pathOf, type Row, type RowWrite } from '../../lib/protocol/writes/row-write.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { isPauseGroup, type Limit, limitGroup } from '../../lib/wire/limits.ts';
import type { Run } from './judge.ts';
import { SIMULATED_TYPE } from './simulated-handler.ts';
import type { World } from './world.ts';

const LONGEST_PARKED_MS = 5 * 60_000;
const LONGEST_PAUSED_MS = 4 * 3_600_000;
/** A lost hand-over shows when a waiting job's next hint comes: its lease, the reaper's tick, and what a check then takes. */
const SLACK_MS = 2 * 60_000;
const COUNTERS = ['errors', 'crashes', 'lapses', 'releases'] as const;

type Members = Readonly<Record<string, number>>;

/** Judges limits: no more jobs run than there are places, and no place stays empty next to a job that waits. */
export class LimitRules {
  readonly limit: Limit | undefined;
  /** The longest time for which a place was empty next to a waiting job. */
  longestIdleMs = 0;
  readonly #world: World;
  readonly #settings: Settings;
  readonly #keys = new Map<string, string | undefined>();
  readonly #admitted = new Set<string>();
  readonly #statuses = new Map<string, { readonly status: unknown; readonly waitsFor: unknown }>();
  readonly #idleSince = new Map<string, number>();

  constructor(world: World, settings: Settings, limit?: Limit) {
    this.#world = world;
    this.#settings = settings;
    this.limit = limit;
  }

  planned(jobId: string, key: string | undefined): void {
    this.#keys.set(jobId, key);
  }

  groupOf(jobId: string): string | undefined {
    if (this.limit === undefined || !this.#keys.has(jobId)) return undefined;
    const isPerKey = typeof this.limit === 'object';
    const key = this.#keys.get(jobId);
    if (isPerKey && key === undefined) return undefined;
    return limitGroup(SIMULATED_TYPE, isPerKey ? key : undefined);
  }

  get #most(): number {
    const { limit = Number.POSITIVE_INFINITY } = this;
    return typeof limit === 'object' ? limit.perKey : limit;
  }

  /** Remembers what the worker was told. */
  watch(store: JobStore): JobStore {
    if (this.limit === undefined) return store;
    return {
      ...store,
      admit: async (group, admission) => {
        const answer = await store.admit(group, admission);
        if (answer.outcome === 'admitted') this.#admitted.add(`${admission.jobId} ${admission.attempt}`);
        return answer;
      },
      restart: async (claim, next) => {
        const answer = await store.restart(claim, next);
        // The host held the lease, and its place, throughout.
        if (answer.outcome === 'restarted' && this.#admitted.has(`${claim.jobId} ${claim.attempt}`))
          this.#admitted.add(`${claim.jobId} ${answer.job.attempt}`);
        return answer;
      },
    };
  }

  begun({ jobId, attempt }: Run, runsHolding: (group: string) => number): void {
    const group = this.groupOf(jobId);
    if (group === undefined) return;
    if (!this.#admitted.has(`${jobId} ${attempt}`))
      this.#world.violate(`the handler of ${jobId}, attempt ${attempt}, starts without admission`);
    const running = runsHolding(group);
    if (running > this.#most)
      this.#world.violate(`${running} jobs of ${group} run at once, and ${this.#most} may`);
  }

  groupWritten(before: Row | undefined, after: Row, write: RowWrite): void {
    const [was, is] = [membersOf(before), membersOf(after)];
    this.#world.note('table', `${write.jobId}: ${write.transition} → ${JSON.stringify(is)}`);
    const problem = entryProblem(was, is, write) ?? this.#sizeProblem(was, is);
    if (problem !== undefined) this.#world.violate(`${write.transition} of ${write.jobId}: ${problem}`);
  }

  #sizeProblem(was: Members, is: Members): string | undefined {
    const size = Object.keys(is).length;
    return size > this.#most && size > Object.keys(was).length
      ? `${size} entries for ${this.#most} places`
      : undefined;
  }

  rowProblems(before: Row | undefined, after: Row, { jobId, transition }: RowWrite): string[] {
    const problems: string[] = [];
    const { waitsFor, waitsSince, status } = after;
    if ((waitsFor === undefined) !== (waitsSince === undefined)) problems.push('waits for half of it');
    if (waitsFor !== undefined && status !== 'pending') problems.push(`${status}, but waits for ${waitsFor}`);
    if (waitsFor !== undefined) {
      const longest = isPauseGroup(String(waitsFor)) ? LONGEST_PAUSED_MS : LONGEST_PARKED_MS;
      const leaseMs = Number(after.leaseUntil) - this.#world.now;
      const delayMs = Math.max(0, Number(after.notBefore) - this.#world.now);
      if (leaseMs > longest + delayMs + this.#settings.skewMs) problems.push(`parked for ${leaseMs} ms`);
    }
    const isParked = transition === 'park' || transition === 'parkClaim';
    if (isParked && COUNTERS.some((name) => before?.[name] !== after[name]))
      problems.push('parking was charged');
    this.#noteIdle(jobId, { status, waitsFor });
    return problems;
  }

  /** Counts from the moment at which both a place is empty and a job waits. */
  #noteIdle(jobId: string, state: { readonly status: unknown; readonly waitsFor: unknown }): void {
    const group = this.groupOf(jobId);
    if (group === undefined) return;
    this.#statuses.set(jobId, state);
    const ofGroup = [...this.#statuses].filter(([id]) => this.groupOf(id) === group);
    const running = ofGroup.filter(([, { status }]) => status === 'running').length;
    const isIdle = running < this.#most && ofGroup.some(([, { waitsFor }]) => waitsFor === group);
    const since = this.#idleSince.get(group);
    if (since !== undefined) this.longestIdleMs = Math.max(this.longestIdleMs, this.#world.now - since);
    if (!isIdle) this.#idleSince.delete(group);
    // A job that starts shows that places are passed on.
    else if (since === undefined || state.status === 'running') this.#idleSince.set(group, this.#world.now);
  }

  judgeTheCalm(rows: ReadonlyMap<string, Row>): void {
    const most = LONGEST_PARKED_MS + this.#settings.reaperIntervalMs + SLACK_MS;
    for (const [group, since] of this.#idleSince) {
      const waiting = [...rows.values()].find(({ waitsFor }) => waitsFor === group);
      const idleMs = this.#world.now - since;
      if (waiting !== undefined && idleMs > most)
        this.#world.violate(
          `a place of ${group} has been empty for ${idleMs} ms, and ${waiting.jobId} waits for it`,
        );
    }
  }
}

const membersOf = (row: Row | undefined): Members => (row?.members ?? {}) as Members;

/** Read from what the core meant to demand, not from what a planted bug left of it. */
function entryProblem(was: Members, is: Members, write: RowWrite): string | undefined {
  const jobOf = (attribute: string) => pathOf(attribute)[1] ?? '';
  for (const [attribute, number] of Object.entries(write.set)) {
    const jobId = jobOf(attribute);
    if (jobId !== '' && (was[jobId] ?? Number.NEGATIVE_INFINITY) > Number(number))
      return `the entry of ${jobId} fell from ${was[jobId]} to ${number}`;
  }
  for (const attribute of write.remove ?? []) {
    const jobId = jobOf(attribute);
    const meant = write.when.flat().find((clause) => clause.attribute === attribute);
    if (meant === undefined || !('value' in meant) || is[jobId] !== undefined) continue;
    const had = was[jobId];
    const isMeant = meant.is === 'equal' ? had === meant.value : Number(had) <= Number(meant.value);
    if (had !== undefined && !isMeant)
      return `the entry of ${jobId} was removed at ${had}, by a write that meant ${meant.value}`;
  }
  return undefined;
}
