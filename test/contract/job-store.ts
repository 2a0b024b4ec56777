import { beforeAll, describe } from 'vitest';
import { describeBadRows } from './bad-rows.ts';
import { describeBatches } from './batches.ts';
import { describeDataExpiry } from './data-expiry.ts';
import { describeDataRows } from './data-rows.ts';
import { describeFencing } from './fencing.ts';
import { createHarness, type Harness, type TableUnderTest } from './harness.ts';
import { describeHeldUp } from './held-up.ts';
import { describeIndexReads } from './index-reads.ts';
import { describeLifecycle } from './lifecycle.ts';
import { describeLimits } from './limits.ts';
import { describeNewerRows } from './newer-rows.ts';
import { describeRaces } from './races.ts';
import { describeReaperRow } from './reaper-row.ts';
import { describeTransitions } from './transitions.ts';

/** How many race for a job, and how often. */
export interface Pressure {
  readonly rounds: number;
  readonly claimants: number;
}

/** The ways in which `applyMany` may write: in batches of 25, or row by row. */
const WAYS = [true, false] as const;

type OpenTable = (batches: boolean) => Promise<TableUnderTest>;

/** What every table must do for the protocol to hold. Run in memory, where nothing races, and on a real engine. */
export function describeJobStore(openTable: OpenTable, pressure?: Pressure): void {
  const open = openHarnesses(openTable);
  describe('transitions', () => describeTransitions(open(true)));
  describe('requests that are held up', () => describeHeldUp(open(true)));
  describe('fencing', () => describeFencing(open(true)));
  describe('the life of a job', () => describeLifecycle(open(true)));
  describe('the reaper’s own row', () => describeReaperRow(open(true)));
  describe('a row of a newer version', () => describeNewerRows(open(true)));
  describe('data', () => describeDataExpiry(open(true)));
  describeEngine(open, pressure);
}

/** The part of it in which engines have differed: batches, large rows, pages and races. */
export function describeEngineDifferences(openTable: OpenTable, pressure: Pressure): void {
  describeEngine(openHarnesses(openTable), pressure);
}

type OpenHarness = (batches: boolean) => () => Harness;

function openHarnesses(openTable: OpenTable): OpenHarness {
  const harnesses = new Map<boolean, Harness>();
  beforeAll(async () => {
    for (const batches of WAYS) harnesses.set(batches, createHarness(await openTable(batches)));
  });
  return (batches) => () => harnesses.get(batches) as Harness;
}

function describeEngine(open: OpenHarness, pressure?: Pressure): void {
  describe('data outside the row', () => describeDataRows(open(true)));
  describe('limits', () => describeLimits(open(true)));
  describe('index reads', () => describeIndexReads(open(true)));
  if (pressure !== undefined) describe('races', () => describeRaces(open(true), pressure));
  describe.each(WAYS)('with batches: %s', (batches) => {
    describe('many rows', () => describeBatches(open(batches)));
    describe('rows edited by hand', () => describeBadRows(open(batches)));
  });
}
