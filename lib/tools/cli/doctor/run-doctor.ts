import { describeQueue, type QueueDescription, queueUrlOf } from '../../../aws/sqs/queue-inspection.ts';
import { NEXT_TO_NOTHING, type ScanCost, scanCostOf } from '../../../client/scan-cost.ts';
import type { Cursor } from '../../../protocol/ports.ts';
import { LEADER_KEY } from '../../../wire/table.ts';
import { counted } from '../../inspect/counted.ts';
import { formatDollars } from '../../plan/format-dollars.ts';
import { type System, settingVariables } from '../system/system.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type CheckResult, type Finding, problem, runCheck } from './check.ts';
import { checkPools } from './check-pools.ts';
import { checkQueue } from './check-queue.ts';
import { isJobRow, type RowContext, rowChecks } from './row-checks.ts';
import { checkClock, checkReaper, checkSettings, checkTable } from './system-checks.ts';

export const rowCheckNames: readonly string[] = Object.keys(rowChecks);

export interface DoctorOptions {
  /** True: at any cost. False: never. Undefined: if it is nearly free. */
  readonly scan?: boolean;
  readonly onScan?: (cost: ScanCost) => void;
}

export async function runDoctor(
  system: System,
  terminal: Terminal,
  options: DoctorOptions = {},
): Promise<CheckResult[]> {
  const { settings, found, table } = system;
  const results = [
    await runCheck('settings', () => checkSettings(settingVariables(found.environment))),
    await runCheck('table and indexes', async () => checkTable(await system.inspection.describe())),
    await runCheck('clock', async () => {
      await table.read(LEADER_KEY);
      return checkClock(system.clockGuard.offset(), settings);
    }),
    await runCheck('reaper', async () => checkReaper(await table.read(LEADER_KEY), settings)),
    await runCheck('queue', () => queueFindings(system)),
  ];
  return [...results, ...(await checkRows(system, terminal, options))];
}

async function queueFindings(system: System): Promise<Finding[]> {
  const { sqs, settings } = system;
  const queueUrl = system.queueUrl();
  const queue = await describeQueue(sqs, queueUrl);
  const found = (deadLetters?: QueueDescription) => checkQueue(queue, deadLetters, settings);
  if (queue.redrive === undefined) return [...found(), ...(await checkPools(system, queueUrl, undefined))];
  let deadLetters: { readonly url: string; readonly queue: QueueDescription };
  try {
    const url = await queueUrlOf(sqs, queue.redrive.deadLetterArn);
    deadLetters = { url, queue: await describeQueue(sqs, url) };
  } catch (error) {
    return [
      ...found(),
      ...(await checkPools(system, queueUrl, undefined)),
      problem(
        `the dead-letter queue ${queue.redrive.deadLetterArn} cannot be read (${error instanceof Error ? error.message : error})`,
        'check that it exists, and that you may read it',
      ),
    ];
  }
  return [...found(deadLetters.queue), ...(await checkPools(system, queueUrl, deadLetters))];
}

async function checkRows(system: System, terminal: Terminal, options: DoctorOptions): Promise<CheckResult[]> {
  const names = rowCheckNames;
  const all = (outcome: 'failed' | 'skipped', reason: string) =>
    names.map((check): CheckResult => ({ check, outcome, reason }));
  if (options.scan === false) return all('skipped', 'skipped (--no-scan)');
  try {
    const cost = await scanCostOf(system);
    if (options.scan === undefined && cost.dollars > NEXT_TO_NOTHING)
      return all(
        'failed',
        `needs a scan of about ${counted(cost.rows, 'row')} (${formatDollars(cost.dollars)}); add --scan to run it anyway, or --no-scan to skip it`,
      );
    options.onScan?.(cost);
    const findings = await scanRows(system, terminal);
    return names.map((check) => ({ check, outcome: 'checked', findings: findings.get(check) ?? [] }));
  } catch (error) {
    return all('failed', error instanceof Error ? error.message : String(error));
  }
}

async function scanRows(system: System, terminal: Terminal): Promise<Map<string, Finding[]>> {
  const context: RowContext = {
    now: terminal.clock.now(),
    settings: system.settings,
    changedBy: () => `doctor/${terminal.random.unique()}`,
  };
  const findings = new Map<string, Finding[]>();
  let cursor: Cursor | undefined;
  do {
    const page = await system.inspection.scan({ cursor });
    for (const row of page.rows.filter(isJobRow))
      for (const [name, check] of Object.entries(rowChecks)) {
        const finding = check(row, context);
        if (finding !== undefined) findings.set(name, [...(findings.get(name) ?? []), finding]);
      }
    cursor = page.cursor;
    if (terminal.interrupted.aborted) throw new Error('interrupted before the whole table was read');
  } while (cursor !== undefined);
  return findings;
}
