import { carriedAtOnce } from '../../lib/settings/partitions.ts';
import {
  PARTITION_WRITE_UNITS,
  shardsNeeded,
  UNITS_PER_START,
  USABLE_SHARE,
} from '../../lib/settings/relations.ts';
import { declarations, resolveSettings } from '../../lib/settings/settings.ts';
import { jobUnits } from '../../lib/tools/plan/job-units.ts';
import { beatsOf, ownMsOf } from '../../lib/tools/plan/plan.ts';
import { totalUnits } from '../../lib/tools/plan/write-units.ts';

/** The tables of docs/operating/scale.md that follow from settings and from the units of a write. */

/** A short handler. */
const HANDLER_MS = 100;
const WORKER_MEMORY_MB = 512;
const HOUR_MS = 3_600_000;
const MILLION = 1e6;
const { heartbeat } = jobUnits({ payloadBytes: 200, resultBytes: 64, checkpointBytes: 0 });
const TABLE_UNITS = heartbeat.table;
const INDEX_UNITS = totalUnits(heartbeat) - heartbeat.table;

/** Beats a second of one job that runs for an hour. */
const beatsASecond = (settings: Readonly<Record<string, number>> = {}) =>
  (beatsOf(HOUR_MS, resolveSettings(settings)) * 1000) / HOUR_MS;

const usual = resolveSettings();
const seconds = (ms: number) => `${ms / 1000} s`;
const thousands = (value: number) => (Math.round(value / 1000) * 1000).toLocaleString('en');
const rate = (value: number) => value.toFixed(2);
const rowOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const tableOf = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
  isLeft: (column: number) => boolean = () => false,
): string =>
  [rowOf(head), rowOf(head.map((_, i) => (isLeft(i) ? '---' : '---:'))), ...rows.map(rowOf)].join('\n');

export function runningJobTable(): string {
  const both = (beats: number): string[] => [
    `${rate(beats * TABLE_UNITS)} and ${rate(beats * INDEX_UNITS)} /s`,
    `${thousands(beats * TABLE_UNITS * MILLION)} and ${thousands(beats * INDEX_UNITS * MILLION)} /s`,
  ];
  const one = (each: number): string[] => [`${rate(each)} /s`, `${thousands(each * MILLION)} /s`];
  const beats = beatsASecond();
  return tableOf(
    ['', 'per running job', 'a million'],
    [
      [`heartbeats, every ${seconds(usual.heartbeatMs)}, up to a fifth early`, ...one(beats)],
      [`write units of the table, ${TABLE_UNITS} a beat`, ...one(beats * TABLE_UNITS)],
      [`write units of the index, ${INDEX_UNITS} a beat`, ...one(beats * INDEX_UNITS)],
      ['both, with a lease of 60 s', ...both(beatsASecond({ leaseMs: 60_000 }))],
    ],
    (column) => column === 0,
  );
}

/** Shards in the long run, by the relation that is checked at synth. */
export function shardsTable(): string {
  const leases = [usual.leaseMs, 30_000, 60_000, 300_000];
  return tableOf(
    ['running jobs', ...leases.map((leaseMs) => `lease ${seconds(leaseMs)}`)],
    [1000, 17_000, 100_000, MILLION].map((maxRunning) => [
      maxRunning.toLocaleString('en'),
      ...leases.map((leaseMs) => {
        const shards = shardsNeeded({ maxRunning, heartbeatMs: resolveSettings({ leaseMs }).heartbeatMs });
        if (shards > declarations.shards.max) return 'too many';
        return shards === usual.shards ? `${shards} (default)` : String(shards);
      }),
    ]),
  );
}

/** Write units a second that running jobs take of the table and of the index, at the default lease. */
export function tableUnitsTable(): string {
  const units = (running: number, each: number) => `${thousands(running * beatsASecond() * each)} /s`;
  const indexWith = (leaseMs: number) => thousands(beatsASecond({ leaseMs }) * INDEX_UNITS * MILLION);
  const rows: [number, string][] = [
    [9_000, 'nothing'],
    [90_000, 'raise gradually, or set `warmThroughput` before a launch'],
    [
      MILLION,
      `a longer lease: the index takes ${indexWith(60_000)} /s at 60 s, ${indexWith(300_000)} /s at 5 minutes`,
    ],
  ];
  return tableOf(
    [`running jobs, lease ${seconds(usual.leaseMs)}`, 'table', 'index', 'what to do'],
    rows.map(([running, todo]) => [
      running === MILLION ? running.toLocaleString('en') : `up to ${running.toLocaleString('en')}`,
      units(running, TABLE_UNITS),
      units(running, INDEX_UNITS),
      todo,
    ]),
    (column) => column === 3,
  );
}

/** Starts a second of short jobs at which each limit of the default stack is reached. */
export function startsTable(): string {
  const invocationMs = HANDLER_MS + ownMsOf(WORKER_MEMORY_MB, 1);
  const perInvocation = (concurrency: number) => (concurrency * 1000) / invocationMs;
  const rows: [string, number, string][] = [
    [
      `${usual.workerConcurrency} invocations at once, handlers of ${HANDLER_MS} ms`,
      perInvocation(usual.workerConcurrency),
      '`workerConcurrency`, `batchConcurrency`',
    ],
    [
      `a new index: ${usual.shards} keys on four partitions`,
      carriedAtOnce(usual.shards) / UNITS_PER_START,
      '`shards` and `warmThroughput`, or half an hour',
    ],
    [
      `${usual.shards} shards, once each has a partition`,
      (usual.shards * PARTITION_WRITE_UNITS * USABLE_SHARE) / UNITS_PER_START,
      '`shards`',
    ],
    [
      'a thousand concurrent executions of an account',
      perInvocation(1000),
      'the quota, `batchConcurrency`, containers',
    ],
    ['40,000 write units of the table', 40_000 / UNITS_PER_START, 'the quota'],
  ];
  return tableOf(
    ['what limits', 'jobs a second', 'what raises it'],
    rows.map(([what, starts, raise]) => [what, (Math.floor(starts / 10) * 10).toLocaleString('en'), raise]),
    (column) => column !== 1,
  );
}
