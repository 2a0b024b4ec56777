import type { TableDescription } from '../../../aws/dynamodb/table-inspection.ts';
import type { ClockOffset } from '../../../protocol/clock-guard.ts';
import { parseReaperRow } from '../../../protocol/store/reaper-row.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import { settingsFromEnvironment } from '../../../settings/environment.ts';
import { declarations, type Settings } from '../../../settings/settings.ts';
import { SettingsError } from '../../../settings/settings-error.ts';
import { jobsTable, LEADER_KEY } from '../../../wire/table.ts';
import { formatDuration } from '../../inspect/format-duration.ts';
import { type Finding, problem, warning } from './check.ts';

export function checkSettings(variables: Readonly<Record<string, string | undefined>>): Finding[] {
  try {
    settingsFromEnvironment(variables);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map((message) => problem(message, 'correct the setting in the stack and deploy'));
  }
}

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

export function checkReaper(leader: Row | undefined, { shards }: Pick<Settings, 'shards'>): Finding[] {
  if (leader?.shards === undefined || parseReaperRow(leader).shards !== 0) return [];
  return [
    problem(
      `row '${LEADER_KEY}' has shards ${JSON.stringify(leader.shards)}; allowed is a whole number from 1 to ${declarations.shards.max}. Until then, reapers sweep ${shards} shards`,
      `set its attribute 'shards' to the highest number that was ever deployed`,
    ),
  ];
}
