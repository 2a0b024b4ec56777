import type { EventOutlet } from '../protocol/event-outlet.ts';
import { createLeadership } from '../protocol/store/leader-lease.ts';
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

export function createLead(
  deps: ReaperDeps,
  options: { readonly name: string; readonly endsAt: number; readonly outlet: EventOutlet },
): Lead {
  const { clock, telemetry, settings } = deps;
  const { name, endsAt, outlet } = options;
  const leadership = createLeadership({
    table: deps.table,
    clock,
    name,
    leaseMs: settings.leaderLeaseMs,
    shards: settings.shards,
    endsAt,
  });
  let held: Held | undefined;
  let shards = settings.shards;

  const tell = (change: Change, epoch: number) => {
    telemetry.info(`reaper leadership ${change}`, { leader: name, epoch });
    outlet.publish([
      { name: 'ReaperLeadershipChanged', detail: { leader: name, change, epoch, at: clock.now() } },
    ]);
  };
  const lose = () => {
    if (held?.announced) tell('lost', held.epoch);
    held = undefined;
  };

  return {
    async seek() {
      if (held !== undefined && !held.doubtful) {
        if (clock.now() < held.until) return { leads: true, shards };
        // No sweep was completed in all that time: another reaper may fare better, and gets the chance.
        lose();
        return { leads: false, leaderUntil: clock.now() + 2 * settings.minSweepIntervalMs, shards };
      }
      try {
        const outcome = await leadership.take();
        shards = Math.max(shards, outcome.shards);
        if (outcome.outcome === 'following') {
          lose();
          const { leader, leaderUntil } = outcome;
          if (leaderUntil <= clock.now() + LONGEST_LEAD_MS) return { leads: false, leaderUntil, shards };
          telemetry.warn('nobody can lead for so long; sweeping without', { leader, leaderUntil });
          return { leads: true, shards };
        }
        const announced = held?.announced ?? false;
        const until = clock.now() + settings.leaderLeaseMs;
        held = { epoch: outcome.epoch, until, announced, doubtful: false };
      } catch (error) {
        telemetry.error('leadership cannot be determined; sweeping without', error);
      }
      return { leads: true, shards };
    },

    async keep() {
      if (held === undefined) return;
      try {
        const outcome = await leadership.extend(held.epoch);
        if (outcome.outcome === 'lost') return lose();
        shards = Math.max(shards, outcome.shards);
        held.until = clock.now() + settings.leaderLeaseMs;
      } catch (error) {
        held.doubtful = true;
        telemetry.error('leadership was not extended', error);
      }
    },

    announce() {
      if (held === undefined || held.announced) return;
      held.announced = true;
      tell('acquired', held.epoch);
    },

    async giveUp() {
      if (held === undefined) return;
      const { epoch, announced } = held;
      held = undefined;
      try {
        await leadership.release(epoch);
        if (announced) tell('released', epoch);
      } catch (error) {
        telemetry.error('leadership was not released; the next reaper waits for its end', error);
      }
    },
  };
}
