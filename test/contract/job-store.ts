import { beforeAll, describe } from 'vitest';
import { describeBadRows } from './bad-rows.ts';
import { describeBatches } from './batches.ts';
import { describeDataExpiry } from './data-expiry.ts';
import { describeDataRows } from './data-rows.ts';
import { describeExcusedLapses } from './excused-lapses.ts';
import { describeFencing } from './fencing.ts';
import { createHarness, type Harness, type TableUnderTest } from './harness.ts';
import { describeHeldUp } from './held-up.ts';
import { describeIndexReads } from './index-reads.ts';
import { describeLifecycle } from './lifecycle.ts';
import { describeRaces } from './races.ts';
import { describeReaperRow } from './reaper-row.ts';
import { describeTransitions } from './transitions.ts';
import { describeUpgrade } from './upgrade.ts';

/** How many race for a job, and how often. */
export interface Pressure {
  readonly rounds: number;
  readonly claimants: number;
}

/** The ways in which `applyMany` may write: in batches of 25, or row by row. */
const WAYS = [true, false] as const;

/** What every table must do for the protocol to hold. Run in memory, where nothing races, and on each engine. */
export function describeJobStore(
  openTable: (batches: boolean) => Promise<TableUnderTest>,
  pressure?: Pressure,
): void {
  const harnesses = new Map<boolean, Harness>();
  const open = (batches: boolean) => () => harnesses.get(batches) as Harness;
  beforeAll(async () => {
    for (const batches of WAYS) harnesses.set(batches, createHarness(await openTable(batches)));
  });

  describe('transitions', () => describeTransitions(open(true)));
  describe('requests that are held up', () => describeHeldUp(open(true)));
  describe('fencing', () => describeFencing(open(true)));
  describe('the life of a job', () => describeLifecycle(open(true)));
  describe('the reaper’s own row', () => describeReaperRow(open(true)));
  describe('rows of the version before', () => describeUpgrade(open(true)));
  describe('data beside the row', () => describeDataRows(open(true)));
  describe('data', () => describeDataExpiry(open(true)));
  describe('index reads', () => describeIndexReads(open(true)));
  if (pressure !== undefined) describe('races', () => describeRaces(open(true), pressure));
  describe.each(WAYS)('with batches: %s', (batches) => {
    describe('excused lapses', () => describeExcusedLapses(open(batches)));
    describe('many rows', () => describeBatches(open(batches)));
    describe('rows edited by hand', () => describeBadRows(open(batches)));
  });
}
