import type { Clock, Table } from '../ports.ts';
import {
  extendLeadWrite,
  raiseShardsWrite,
  releaseLeadWrite,
  takeLeadWrite,
} from '../writes/leader-writes.ts';
import type { Row } from '../writes/row-write.ts';

/**
 * The reaper's leader lease: one row that is not a job and not in the index. It only saves duplicate work; sweeps are
 * correct with any number of leaders, or none. Its `ledAt` is the last sign of life of any reaper, also after the lead was
 * released: `doctor` tells by it whether reapers run at all.
 */
export interface Leadership {
  /** Takes the lead if nobody has it. */
  take(): Promise<LeadOutcome>;
  /** Keeps the lead: to be called after a completed sweep, so that a reaper which gets nowhere loses it. */
  extend(epoch: number): Promise<ExtendOutcome>;
  /** Gives the lead up, so that the next reaper need not wait. */
  release(epoch: number): Promise<void>;
}

type LeadOutcome =
  | { readonly outcome: 'leading'; readonly epoch: number; readonly shards: number }
  | {
      readonly outcome: 'following';
      readonly leader: string;
      /** As the row says, which anybody may have edited: NaN where that is not a number. */
      readonly leaderUntil: number;
      readonly shards: number;
    };

type ExtendOutcome =
  /** With the highest number of shards that any reaper knows of by now. */
  { readonly outcome: 'extended'; readonly shards: number } | { readonly outcome: 'lost' };

export function createLeadership(options: {
  readonly table: Table;
  readonly clock: Clock;
  readonly name: string;
  readonly leaseMs: number;
  /** When this reaper stops anyway: it never claims to lead beyond, so that its successor wakes up on time. */
  readonly endsAt?: number;
  /** The shards that this reaper's settings know of; the highest number ever used is kept and swept. */
  readonly shards: number;
}): Leadership {
  const { table, clock, name, leaseMs, shards, endsAt = Number.POSITIVE_INFINITY } = options;
  const me = () => {
    const now = clock.now();
    return { name, now, until: Math.min(now + leaseMs, Math.max(now, endsAt)) };
  };
  return {
    async take() {
      const result = await table.apply(takeLeadWrite(me(), shards));
      const known = await raiseShards(result.row);
      if (result.applied) return { outcome: 'leading', epoch: Number(result.row.term), shards: known };
      return {
        outcome: 'following',
        leader: String(result.row?.leader ?? 'unknown'),
        leaderUntil: Number(result.row?.leaderUntil),
        shards: known,
      };
    },

    async extend(epoch) {
      const result = await table.apply(extendLeadWrite(me(), epoch));
      return result.applied
        ? { outcome: 'extended', shards: Math.max(shards, shardsIn(result.row)) }
        : { outcome: 'lost' };
    },

    async release(epoch) {
      await table.apply(releaseLeadWrite(name, epoch));
    },
  };

  async function raiseShards(row: Row | undefined): Promise<number> {
    const known = shardsIn(row);
    if (known >= shards) return known;
    const raised = await table.apply(raiseShardsWrite(shards));
    // Where it was refused, another reaper has raised it further meanwhile.
    return Math.max(shards, shardsIn(raised.row));
  }
}

const shardsIn = (row: Row | undefined): number => (typeof row?.shards === 'number' ? row.shards : 0);
