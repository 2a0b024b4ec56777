import type { EventOutlet } from '../protocol/event-outlet.ts';
import { createLeadership, type Leadership } from '../protocol/store/leader-lease.ts';
import { declarations } from '../settings/settings.ts';
import type { EventDetails } from '../wire/events.ts';
import type { ReaperDeps } from './deps.ts';

/** This reaper's part in the leadership, with what it tells of it. */
export interface Lead {
  /** Takes the lead, or finds out who has it. Without an answer the reaper leads: sweeping twice is harmless, not at all is not. */
  seek(): Promise<
    | { readonly leads: true; readonly shards: number }
    | { readonly leads: false; readonly leaderUntil: number; readonly shards: number }
  >;
  /** Keeps the lead after a completed sweep. */
  keep(): Promise<void>;
  /** Tells that this reaper took the lead. An idle system's reaper, which leaves at once, does not bother anybody. */
  announce(): void;
  giveUp(): Promise<void>;
}

interface Held {
  readonly epoch: number;
  until: number;
  announced: boolean;
  /** The last extension was not answered: somebody else may lead by now. */
  doubtful: boolean;
}

/** No reaper leads for longer without a sweep: a row that says otherwise was edited, or written by a wrong clock. */
export const LONGEST_LEAD_MS = declarations.leaderLeaseMs.max;

type Change = EventDetails['ReaperLeadershipChanged']['change'];

interface LeadOptions {
  readonly name: string;
  readonly endsAt: number;
  readonly outlet: EventOutlet;
}

export const createLead = (deps: ReaperDeps, options: LeadOptions): Lead => new ReaperLead(deps, options);

class ReaperLead implements Lead {
  readonly #deps: ReaperDeps;
  readonly #options: LeadOptions;
  readonly #leadership: Leadership;
  #held: Held | undefined;
  #shards: number;

  constructor(deps: ReaperDeps, options: LeadOptions) {
    const { table, clock, settings } = deps;
    const { name, endsAt } = options;
    this.#deps = deps;
    this.#options = options;
    this.#shards = settings.shards;
    this.#leadership = createLeadership({
      ...{ table, clock, name, endsAt },
      leaseMs: settings.leaderLeaseMs,
      shards: settings.shards,
    });
  }

  async seek(): ReturnType<Lead['seek']> {
    const { clock, settings, telemetry } = this.#deps;
    if (this.#held !== undefined && !this.#held.doubtful) {
      if (clock.now() < this.#held.until) return { leads: true, shards: this.#shards };
      // No sweep was completed in all that time: another reaper may fare better, and gets the chance.
      this.#lose();
      const leaderUntil = clock.now() + 2 * settings.minSweepIntervalMs;
      return { leads: false, leaderUntil, shards: this.#shards };
    }
    try {
      return await this.#take();
    } catch (error) {
      telemetry.error('leadership cannot be determined; sweeping without', error);
      return { leads: true, shards: this.#shards };
    }
  }

  async #take(): ReturnType<Lead['seek']> {
    const { clock, settings, telemetry } = this.#deps;
    const outcome = await this.#leadership.take();
    this.#shards = Math.max(this.#shards, outcome.shards);
    if (outcome.outcome === 'following') {
      this.#lose();
      const { leader, leaderUntil } = outcome;
      if (leaderUntil <= clock.now() + LONGEST_LEAD_MS)
        return { leads: false, leaderUntil, shards: this.#shards };
      telemetry.warn('nobody can lead for so long; sweeping without', { leader, leaderUntil });
    } else {
      const announced = this.#held?.announced ?? false;
      const until = clock.now() + settings.leaderLeaseMs;
      this.#held = { epoch: outcome.epoch, until, announced, doubtful: false };
    }
    return { leads: true, shards: this.#shards };
  }

  async keep(): Promise<void> {
    const { clock, settings, telemetry } = this.#deps;
    const held = this.#held;
    if (held === undefined) return;
    try {
      const outcome = await this.#leadership.extend(held.epoch);
      if (outcome.outcome === 'lost') return this.#lose();
      this.#shards = Math.max(this.#shards, outcome.shards);
      held.until = clock.now() + settings.leaderLeaseMs;
    } catch (error) {
      held.doubtful = true;
      telemetry.error('leadership was not extended', error);
    }
  }

  announce(): void {
    if (this.#held === undefined || this.#held.announced) return;
    this.#held.announced = true;
    this.#tell('acquired', this.#held.epoch);
  }

  async giveUp(): Promise<void> {
    if (this.#held === undefined) return;
    const { epoch, announced } = this.#held;
    this.#held = undefined;
    try {
      await this.#leadership.release(epoch);
      if (announced) this.#tell('released', epoch);
    } catch (error) {
      const { telemetry } = this.#deps;
      telemetry.error('leadership was not released; the next reaper waits for its end', error);
    }
  }

  #lose(): void {
    if (this.#held?.announced) this.#tell('lost', this.#held.epoch);
    this.#held = undefined;
  }

  #tell(change: Change, epoch: number): void {
    const { clock, telemetry } = this.#deps;
    const { name: leader, outlet } = this.#options;
    telemetry.info(`reaper leadership ${change}`, { leader, epoch });
    outlet.publish([{ name: 'ReaperLeadershipChanged', detail: { leader, change, epoch, at: clock.now() } }]);
  }
}
