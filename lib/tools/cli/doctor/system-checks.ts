import type { TableDescription } from '../../../aws/dynamodb/table-inspection.ts';
import type { ClockOffset } from '../../../protocol/clock-guard.ts';
import { parseReaperRow } from '../../../protocol/store/reaper-row.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import { settingsFromEnvironment } from '../../../settings/environment.ts';
import { recoveryBound, SCHEDULE_JITTER_MS } from '../../../settings/recovery-bound.ts';
import { declarations, type Settings } from '../../../settings/settings.ts';
import { SettingsError } from '../../../settings/settings-error.ts';
import { jobsTable, LEADER_KEY } from '../../../wire/table.ts';
import { formatDuration } from '../../inspect/format-duration.ts';
import { type Finding, problem, warning } from './check.ts';

export function checkSettings(variables: Readonly<Record<string, string | undefined>>): Finding[] {
  try {
    const settings = settingsFromEnvironment(variables);
    return settings.reaperEnabled
      ? []
      : [
          warning(
            'the reaper is switched off (reaperEnabled is false)',
            'switch it on again when the reason no longer applies',
          ),
        ];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map((says) => problem(says, 'correct the setting in the stack and deploy'));
  }
}

/** Warns at half the allowed skew. */
export function checkClock(offset: ClockOffset | undefined, settings: Pick<Settings, 'skewMs'>): Finding[] {
  if (offset === undefined)
    return [
      warning('DynamoDB sent no date, so the clock could not be compared', 'check that NTP is running'),
    ];
  const certain = Math.abs(offset.offsetMs) - offset.uncertaintyMs;
  if (certain <= settings.skewMs / 2) return [];
  const way = offset.offsetMs > 0 ? 'ahead of' : 'behind';
  return [
    problem(
      `this machine's clock is ${formatDuration(offset.offsetMs)} ${way} DynamoDB's (± ${formatDuration(offset.uncertaintyMs)}); at most ${formatDuration(settings.skewMs / 2)} is allowed`,
      'set the clock with NTP before this machine claims or reclaims anything',
    ),
  ];
}

export function checkTable(table: TableDescription): Finding[] {
  const findings: Finding[] = [];
  if (table.status !== 'ACTIVE')
    findings.push(problem(`the table is ${table.status}`, 'wait, or look at it in the AWS console'));
  for (const wanted of jobsTable.indexes) {
    const index = table.indexes.find((each) => each.name === wanted.name);
    const next = 'deploy the stack again; a table created by hand needs this index as the stack defines it';
    if (index === undefined) {
      findings.push(problem(`the table has no index '${wanted.name}'`, next));
      continue;
    }
    if (index.partitionKey !== wanted.partitionKey.name || index.sortKey !== wanted.sortKey.name)
      findings.push(
        problem(
          `index '${wanted.name}' has the keys ${index.partitionKey}, ${index.sortKey}; it needs ${wanted.partitionKey.name}, ${wanted.sortKey.name}`,
          next,
        ),
      );
    const missing = wanted.projects.filter((name) => !index.projects.includes(name));
    if (index.projects.length > 0 && missing.length > 0)
      findings.push(problem(`index '${wanted.name}' does not project ${missing.join(', ')}`, next));
  }
  return findings;
}

/** An account without concurrency to spare, in which workers can starve the reaper. */
export const checkConcurrency = (throttles: number | undefined): Finding[] =>
  throttles === undefined || throttles === 0
    ? []
    : [
        warning(
          `Lambda refused ${throttles} invocations in this account and region within the last hour: no concurrency was left`,
          "see the limit with 'aws lambda get-account-settings' (new accounts have 10); have it raised, lower workerConcurrency, or set reaperReservedConcurrency so that the reaper is not starved",
        ),
      ];

export interface ReaperSigns {
  readonly leader: Row | undefined;
  /** The soonest lease ends. */
  readonly oldestRunning: number | undefined;
  readonly oldestPending: number | undefined;
}

export function checkReaper(signs: ReaperSigns, now: number, settings: Settings): Finding[] {
  const { leader, oldestRunning, oldestPending } = signs;
  const next =
    "look at the reaper function's log and its schedule in EventBridge; until then, 'leasehold doctor --sweep' sweeps once from here";
  const findings: Finding[] = [];
  if (leader === undefined) findings.push(problem('no reaper has ever swept this table', next));
  if (leader?.shards !== undefined && parseReaperRow(leader).shards === 0)
    findings.push(
      problem(
        `row '${LEADER_KEY}' has shards ${JSON.stringify(leader.shards)}; allowed is a whole number from 1 to ${declarations.shards.max}. Reapers sweep ${settings.shards} shards meanwhile`,
        `set its attribute 'shards' to the highest number that was ever deployed`,
      ),
    );
  const ledAt = typeof leader?.ledAt === 'number' ? leader.ledAt : undefined;
  // A reaper on Lambda says when the next one is due, which may be later than a tick.
  const wakeAt = typeof leader?.wakeAt === 'number' ? leader.wakeAt : 0;
  const silence = 2 * settings.reaperIntervalMs + SCHEDULE_JITTER_MS;
  if (ledAt !== undefined && now - Math.max(ledAt, wakeAt) > silence)
    findings.push(
      problem(
        `the last sign of a reaper is ${formatDuration(now - ledAt)} old; one is started every ${formatDuration(settings.reaperIntervalMs)}`,
        next,
      ),
    );
  const { worstMs } = recoveryBound({ ...settings, leaseMs: 0 });
  for (const [what, oldest] of [
    ['running', oldestRunning],
    ['pending', oldestPending],
  ] as const)
    if (oldest !== undefined && now - oldest > worstMs)
      findings.push(
        problem(
          `a ${what} job's lease ended ${formatDuration(now - oldest)} ago and the reaper has not acted; by the settings it acts within ${formatDuration(worstMs)}`,
          next,
        ),
      );
  return findings;
}
