import { shardsNeeded } from '../../lib/settings/relations.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { jobUnits } from '../../lib/tools/plan/job-units.ts';
import { beatsOf } from '../../lib/tools/plan/plan.ts';
import { totalUnits } from '../../lib/tools/plan/write-units.ts';

/** The tables of docs/scale.md that follow from settings and from the units of a write. */

/** Of one request that is sent by itself, as measured. */
const REQUEST_CPU_MS = 0.9;
/** Of an empty page, read eventually consistent. */
const QUERY_READ_UNITS = 0.5;
const HOUR_MS = 3_600_000;
const MILLION = 1e6;
const { heartbeat } = jobUnits({ payloadBytes: 200, resultBytes: 64, checkpointBytes: 0 });
const TABLE_UNITS = heartbeat.table;
const INDEX_UNITS = totalUnits(heartbeat) - heartbeat.table;

/** Beats a second of one job that runs for an hour. */
const beatsASecond = (settings: Readonly<Record<string, number>> = {}) =>
  (beatsOf(HOUR_MS, resolveSettings(settings)) * 1000) / HOUR_MS;

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
      ['heartbeats, every 10 s, up to a fifth early', ...one(beats)],
      [`write units of the table, ${TABLE_UNITS} a beat`, ...one(beats * TABLE_UNITS)],
      [`write units of the index, ${INDEX_UNITS} a beat`, ...one(beats * INDEX_UNITS)],
      ['the same with a lease of 60 s', ...both(beatsASecond({ leaseMs: 60_000 }))],
      ['the same with `leaseGrowth` 0.1, jobs of an hour', ...both(beatsASecond({ leaseGrowth: 0.1 }))],
    ],
    (column) => column === 0,
  );
}

/** Shards in the long run, by the relation that is checked at synth. */
export function shardsTable(): string {
  const { shards: usual } = resolveSettings();
  return tableOf(
    ['running jobs', 'lease 30 s', 'lease 60 s', 'lease 300 s'],
    [1000, 34_000, 100_000, MILLION].map((maxRunning) => [
      maxRunning.toLocaleString('en'),
      ...[10_000, 20_000, 100_000].map((heartbeatMs) => {
        const shards = shardsNeeded({ maxRunning, heartbeatMs });
        return shards === usual ? `${shards} (default)` : String(shards);
      }),
    ]),
  );
}

/** Write units a second that running jobs take of the table and of the index, at a lease of 30 s. */
export function tableUnitsTable(): string {
  const units = (running: number, each: number) => `${thousands(running * beatsASecond() * each)} /s`;
  const less = beatsASecond({ leaseMs: 60_000, leaseGrowth: 0.1 }) * INDEX_UNITS * MILLION;
  const rows: [number, string][] = [
    [18_000, 'nothing'],
    [180_000, 'raise gradually, or set `warmThroughput` before a launch'],
    [
      MILLION,
      `a quota of 250,000 for the index; or lease 60 s and \`leaseGrowth\` 0.1, then ${thousands(less)} for jobs of an hour`,
    ],
  ];
  return tableOf(
    ['running jobs, lease 30 s', 'table', 'index', 'what to do'],
    rows.map(([running, todo]) => [
      running === MILLION ? running.toLocaleString('en') : `up to ${running.toLocaleString('en')}`,
      units(running, TABLE_UNITS),
      units(running, INDEX_UNITS),
      todo,
    ]),
    (column) => column === 3,
  );
}

/** What a sweep of all keys reads, and its share of the time until the next one. */
export function sweepTable(): string {
  const { leaseMs, skewMs, heartbeatMs } = resolveSettings();
  return tableOf(
    [
      'shards',
      'queries a round',
      'read units a round',
      'CPU a round, at 0.9 ms a request',
      'share of one reaper',
    ],
    [8, 64, 256].map((shards) => {
      const queries = 2 * shards;
      const cpuMs = queries * REQUEST_CPU_MS;
      const share = (100 * cpuMs) / (leaseMs + skewMs - heartbeatMs);
      return [
        ...[String(shards), String(queries), String(queries * QUERY_READ_UNITS)],
        ...[`${(cpuMs / 1000).toFixed(2)} s`, `${share.toFixed(1)}%`],
      ];
    }),
  );
}
