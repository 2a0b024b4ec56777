import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobStatus } from '../../lib/protocol/job.ts';
import { controlTransitions, limitTransitions } from '../../lib/protocol/limits/limit-transitions.ts';
import {
  dataTransitions,
  jobTransitions,
  leaderTransitions,
  type Transition,
} from '../../lib/protocol/transitions.ts';
import { carriedAtOnce, NEW_INDEX_WRITE_UNITS } from '../../lib/settings/partitions.ts';
import { unitsNeeded } from '../../lib/settings/relations.ts';
import {
  declarations,
  defaultSettings,
  type SettingDeclaration,
  type SettingName,
  settingNames,
} from '../../lib/settings/settings.ts';
import { settingVariable } from '../../lib/wire/environment.ts';

const all: [string, Transition][] = Object.entries(jobTransitions);

/** The state diagram, one arrow for each pair of statuses, in the order of a job's life. */
export function transitionDiagram(): string {
  const arrows = new Map<string, string[]>();
  for (const [name, { from, to }] of all)
    for (const start of to === 'same' ? [] : from) {
      const arrow = `${start === 'absent' ? '[*]' : start} --> ${to}`;
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), name]);
    }
  const lines = [...arrows].map(([arrow, names]) => `    ${arrow} : ${names.join(', ')}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '    done --> [*]', '```'].join('\n');
}

/** What the page says once, above the table. */
const USUAL_PROOF = jobTransitions.reclaim.proof;

/** The table of a job's transitions. */
export function transitionTable(): string {
  const rows = all.map(([name, { by, from, to, when, proof }]) => [
    `\`${name}\``,
    by,
    `${shownStart(from)} → ${shownStatus(to)}`,
    when,
    proof === USUAL_PROOF ? '' : proof,
  ]);
  return table(['transition', 'by', 'from → to', 'provided that', 'success shows by'], rows);
}

const shownStart = (from: Transition['from']) =>
  from.length === jobTransitions.repair.from.length ? 'any' : from.map(shownStatus).join(', ');

const shownStatus = (status: JobStatus | 'absent' | 'same') =>
  status === 'absent' ? 'no row' : status === 'same' ? 'the same' : `\`${status}\``;

/** The tables of what is written to rows that are not jobs. */
export const leaderTable = (): string => otherTable(leaderTransitions);
export const dataTable = (): string => otherTable(dataTransitions);
export const limitTable = (): string => otherTable({ ...limitTransitions, ...controlTransitions });

const otherTable = (
  writes: Readonly<Record<string, { readonly when: string; readonly proof: string }>>,
): string =>
  table(
    ['write', 'provided that', 'after a lost reply'],
    Object.entries(writes).map(([name, { when, proof }]) => [`\`${name}\``, when, proof]),
  );

/** The table of the permissions that the construct grants. */
export const grantsTable = (): string =>
  table(
    ['`jobs.grants`', ''],
    commented(readFileSync(join(CDK, 'leasehold-grants.ts'), 'utf8'), /(\w+)\(grantee/).map(
      ([name, said]) => [`\`${name}\``, said],
    ),
  );

const CDK = join(import.meta.dirname, '..', '..', 'lib', 'cdk');

/** What a source says right before each of these. */
const commented = (source: string, what: RegExp): [string, string][] =>
  [...source.matchAll(new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*${what.source}`, 'g'))].map(
    ([, comment = '', name = '']) => [
      name,
      comment
        .replaceAll(/\n\s*\*/g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ],
  );

/** The settings that most users set; the page has the others under "Tuning". */
const COMMON: readonly SettingName[] = [
  ...(['leaseMs', 'maxAttempts', 'maxCrashes', 'processConcurrency', 'workerConcurrency'] as const),
  ...(['batchSize', 'functionTimeoutMs', 'maxRunning', 'maxStartsPerSecond', 'logLevel'] as const),
];

export const commonSettingsTable = (): string =>
  table(
    ['setting', 'default', 'allowed', 'meaning', 'variable'],
    COMMON.map((name) => {
      const [title, byDefault, ...rest] = shownSetting(name);
      return [title, byDefault, allowed(declarations[name]), ...rest];
    }),
  );

export const tuningTable = (): string =>
  table(
    ['setting', 'default', 'meaning', 'variable'],
    settingNames.filter((name) => !COMMON.includes(name)).map(shownSetting),
  );

function shownSetting(name: SettingName): readonly [string, string, string, string] {
  const declaration: SettingDeclaration = declarations[name];
  return [
    `\`${name}\``,
    shownValue(declaration, declaration.default),
    declaration.description,
    `\`${settingVariable(name)}\``,
  ];
}

function allowed(declaration: SettingDeclaration): string {
  switch (declaration.kind) {
    case 'choice':
      return declaration.choices.map((choice) => `\`${choice}\``).join(', ');
    case 'number':
      return `${shownValue(declaration, declaration.min)} to ${shownValue(declaration, declaration.max)}`;
    default:
      throw new Error(`no common setting is a ${declaration.kind}`);
  }
}

function shownValue(declaration: SettingDeclaration, value: number | string | boolean): string {
  if (value === '') return 'none';
  if (declaration.kind !== 'number' || typeof value !== 'number') return `\`${value}\``;
  if (declaration.unit === 'ms') return shownDuration(value);
  if (declaration.unit === 'bytes') return value % 1024 === 0 ? `${value / 1024} KiB` : `${value} bytes`;
  return value.toLocaleString('en');
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

function shownDuration(ms: number): string {
  const [size, unit] = UNITS.find(([each]) => ms > 0 && ms % each === 0) ?? [1, 'ms'];
  return ms === 0 ? '0' : `${ms / size} ${unit}`;
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`).join('\n');

const escaped = (cell: string) => cell.replaceAll('|', '\\|');

/** Running jobs that an index carries from its first minute. */
export function partitionTable(): string {
  const { heartbeatMs } = defaultSettings;
  const units = [NEW_INDEX_WRITE_UNITS, 25_000, 100_000];
  const jobs = (shards: number, indexUnits: number) => {
    const carried = carriedAtOnce(shards, indexUnits) / unitsNeeded({ maxRunning: 1, heartbeatMs }).index;
    return (Math.floor(carried / 100) * 100).toLocaleString('en');
  };
  return table(
    [
      'shards',
      ...units.map((each) => `${each.toLocaleString('en')}${each === NEW_INDEX_WRITE_UNITS ? ' (new)' : ''}`),
    ],
    [8, 24, 64, 128, 256].map((shards) => [String(shards), ...units.map((each) => jobs(shards, each))]),
  );
}
