import type { IndexPage, IndexQuery } from '../../lib/protocol/ports.ts';
import { ownerOfData } from '../../lib/protocol/rows/data-pointer.ts';
import { clauseHolds, rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import type { Row, RowWrite, WriteResult } from '../../lib/protocol/writes/row-write.ts';
import { pageOf } from '../../lib/testing/memory-table.ts';
import type { PlantedBug } from './planted-bug.ts';
import type { World } from './world.ts';

/** A version of a row on its way into the index. */
interface Version {
  /** Undefined: the row was deleted. */
  readonly row: Row | undefined;
  readonly visibleAt: number;
}

/** Told of every write that was applied, in the order in which the table took them. */
export type WriteObserver = (before: Row | undefined, after: Row, write: RowWrite) => void;

/** Where planted bugs get in. */
export type Alterations = Required<Pick<PlantedBug, 'alterWrite' | 'alterQuery'>>;

/** Longer than the default lease and skew: a lapsed entry may show a row as it was a claim ago. */
export const SLOWEST_PROPAGATION_MS = 30_000;
const USUAL_PROPAGATION_MS = 30;

/** The table as it stands behind the network: rows at once, index entries some time later, versions of a row in order. */
export class SimulatedServer {
  readonly rows = new Map<string, Row>();
  /** Ends of claims that were applied, by whichever offer. */
  readonly ends = new Map<string, string>();
  readonly #world: World;
  readonly #versions = new Map<string, Version[]>();
  readonly #observe: WriteObserver;
  readonly #alterations: Alterations;

  constructor(world: World, observe: WriteObserver, alterations: Alterations) {
    this.#world = world;
    this.#observe = observe;
    this.#alterations = alterations;
  }

  apply(intended: RowWrite): WriteResult {
    const write = this.#alterations.alterWrite(intended);
    const before = this.rows.get(write.jobId);
    if (!write.when.some((all) => all.every((clause) => clauseHolds(clause, before))))
      return { applied: false, row: before };
    const after = rowAfter(write, before);
    this.ends.set(endOf(write), write.jobId);
    this.rows.set(write.jobId, after);
    this.#propagate(write.jobId, after);
    this.#observe(before, after, intended);
    return { applied: true, row: replied(write, after) };
  }

  delete(jobId: string): void {
    this.rows.delete(jobId);
    // What the row remembered is gone: a repeated end learns only that it lost.
    for (const [end, ofJob] of this.ends) if (ofJob === jobId) this.ends.delete(end);
    this.#propagate(jobId, undefined);
  }

  /** TTL: what has expired is removed, rows of jobs later than data. */
  expireData(): void {
    for (const [key, { expiresAt }] of this.rows)
      if (ownerOfData(key) !== undefined && Number(expiresAt) * 1000 <= this.#world.now) this.delete(key);
  }

  /** Reads the index as far as it has caught up, and only what is projected into it. */
  query(request: IndexQuery): IndexPage {
    const visible: Row[] = [];
    for (const versions of this.#versions.values()) {
      const row = this.#newestVisible(versions);
      if (row !== undefined) visible.push(row);
    }
    return this.#alterations.alterQuery(request, pageOf(visible, request));
  }

  #newestVisible(versions: Version[]): Row | undefined {
    while (versions.length > 1 && (versions[1] as Version).visibleAt <= this.#world.now) versions.shift();
    const [first] = versions;
    return first !== undefined && first.visibleAt <= this.#world.now ? first.row : undefined;
  }

  #propagate(jobId: string, row: Row | undefined): void {
    const versions = this.#versions.get(jobId) ?? [];
    const slowest = this.#world.fault('indexLags', 'index') ? SLOWEST_PROPAGATION_MS : USUAL_PROPAGATION_MS;
    const visibleAt = Math.max(
      this.#world.now + this.#world.random.integer(0, slowest),
      versions.at(-1)?.visibleAt ?? 0,
    );
    versions.push({ row, visibleAt });
    this.#versions.set(jobId, versions);
  }
}

/** As much of the row as the write asked for: code that relies on more would fail on DynamoDB. */
function replied(write: RowWrite, after: Row): Row {
  switch (write.returns) {
    case 'row':
      return after;
    case 'nothing':
      return {};
    case 'changed':
      return pick(after, [
        ...Object.keys(write.set),
        ...Object.keys(write.keep ?? {}),
        ...Object.keys(write.sum ?? {}),
      ]);
  }
}

function pick(row: Row, attributes: readonly string[]): Row {
  const picked: Record<string, unknown> = {};
  for (const name of attributes) if (row[name] !== undefined) picked[name] = row[name];
  return picked;
}

/** Names the end of one claim, whichever call offers it. */
export const endOf = ({ transition, jobId, when }: RowWrite): string =>
  JSON.stringify([transition, jobId, when.flat().filter(({ attribute }) => CLAIM.includes(attribute))]);

const CLAIM: readonly string[] = ['leaseOwner', 'attempt'];
