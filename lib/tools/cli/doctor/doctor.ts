import { Command } from 'commander';
import { readOverview } from '../../../client/overview.ts';
import { settingsFromEnvironment } from '../../../settings/environment.ts';
import { defaultSettings } from '../../../settings/settings.ts';
import { SettingsError } from '../../../settings/settings-error.ts';
import { counted } from '../../inspect/counted.ts';
import type { Health } from '../../inspect/health.ts';
import { formatDollars } from '../../plan/format-dollars.ts';
import { CliError, type ExitCode, exitCodes } from '../cli-error.ts';
import { type CliContext, onSystem, withExamples, withSystem, withWide } from '../define-command.ts';
import { readHealth, tellHealth } from '../read-health.ts';
import type { SystemOptions } from '../system/find-system.ts';
import { locateSystem } from '../system/locate-system.ts';
import { openSystem, type System, settingVariables } from '../system/system.ts';
import { confirmed } from '../terminal/confirmed.ts';
import { type Colors, createOutput, type Output } from '../terminal/output.ts';
import { type CheckResult, type Finding, runCheck } from './check.ts';
import { isRepairable, type Repaired, repairRows } from './repair-rows.ts';
import { rowCheckNames, runDoctor } from './run-doctor.ts';

interface DoctorCommandOptions extends SystemOptions {
  readonly repair?: boolean;
  readonly sweep?: boolean;
  readonly dryRun?: boolean;
  readonly scan?: boolean;
  readonly yes?: boolean;
}

/** Enough for ten thousand jobs of each status and shard. */
const PAGES_EACH = 1;
const TOLD = 10;

export function createCommand(context: CliContext): Command {
  const command = new Command('doctor')
    .description('report whether the system is healthy, then check settings, clock, queue and every row')
    .option('--repair', 'repair rows, by conditional writes')
    .option('--sweep', 'instead, sweep once from this machine: reclaim lapsed jobs, send lost hints again')
    .option('--dry-run', 'with --repair or --sweep: only show what would be done')
    .option('--scan', 'read the whole table, whatever it costs')
    .option('--no-scan', 'never read the whole table')
    .option('-y, --yes', 'do not ask before repairing')
    .addHelpText(
      'after',
      '\nExit codes: 0 healthy, and no problems; 1 not healthy, or problems were found\nand not all repaired; 2 something could not be checked.',
    )
    .action((options: DoctorCommandOptions) =>
      options.sweep === true ? sweepFromHere(context, options) : doctor(context, options),
    );
  return withExamples(
    withSystem(withWide(command)),
    'leasehold doctor',
    'leasehold doctor --repair --dry-run',
    'leasehold doctor --sweep',
    'leasehold doctor --no-scan --json   # in CI',
  );
}

async function sweepFromHere(context: CliContext, options: DoctorCommandOptions): Promise<void> {
  if (options.repair === true) throw new CliError('Give either --repair or --sweep, one after the other');
  const { previewSweep, sweepOnce } = await import('./sweep-once.ts');
  const act = options.dryRun === true ? previewSweep : sweepOnce;
  await onSystem(context, options, (system, output) => act(context, system, output));
}

async function doctor(context: CliContext, options: DoctorCommandOptions): Promise<void> {
  const { terminal } = context;
  const output = createOutput(terminal, options);
  const system = await openDespiteSettings(context, options);
  try {
    const verdict = await judge(system, output);
    const checks = await runDoctor(system, terminal, {
      scan: options.scan,
      onScan: ({ rows, readUnits, dollars }) =>
        output.note(
          `Reading the whole table: about ${counted(rows, 'row')}, ${counted(readUnits, 'read unit')}, ${formatDollars(dollars)}.`,
        ),
    });
    for (const result of inOneLine(checks)) tell(output, result, options.repair === true);
    const results = verdict.outcome === 'checked' ? checks : [verdict, ...checks];
    const repaired = await repair(context, system, output, results, options);
    output.json({
      health: verdict.health,
      results: results.map(withoutWrites),
      repaired: repaired?.map(({ finding: _, ...each }) => each),
    });
    context.end(conclude(output, results, repaired, verdict.health));
  } finally {
    system.close();
  }
}

async function judge(system: System, output: Output): Promise<CheckResult & { readonly health?: Health }> {
  let health: Health | undefined;
  const result = await runCheck('health', async () => {
    const overview = await readOverview(system, system.clock.now(), { pagesEach: PAGES_EACH });
    ({ health } = await readHealth(system, overview));
    return [];
  });
  if (health === undefined) tell(output, result, false);
  else tellHealth(output, health);
  output.line();
  return { ...result, health };
}

function inOneLine(results: readonly CheckResult[]): CheckResult[] {
  const isQuiet = (result: CheckResult) =>
    rowCheckNames.includes(result.check) && !(result.outcome === 'checked' && result.findings.length > 0);
  const [first, ...others] = results.filter(isQuiet);
  const told = results.filter((result) => !isQuiet(result));
  return first === undefined
    ? told
    : [...told, { ...first, check: `rows (${counted(others.length + 1, 'check')})` }];
}

/** Broken settings are a finding themselves and must not hide the others. */
async function openDespiteSettings({ terminal }: CliContext, options: DoctorCommandOptions): Promise<System> {
  const found = await locateSystem(options, terminal.environment, terminal.directory);
  try {
    settingsFromEnvironment(settingVariables(found.environment));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return openSystem(options, terminal, { settings: defaultSettings, found });
  }
  return openSystem(options, terminal, { found });
}

function tell(output: Output, result: CheckResult, repairs: boolean): void {
  const { colors } = output;
  output.say('', headline(result, colors));
  if (result.outcome !== 'checked') return;
  const { findings } = result;
  for (const finding of findings.slice(0, TOLD)) {
    const mark = finding.severity === 'problem' ? colors.red('problem') : colors.yellow('warning');
    const next = isRepairable(finding) && !repairs ? `--repair would ${finding.next}` : finding.next;
    output.say(`  ${mark} `, finding.message);
    output.say(`          ${colors.dim('→')} `, next, colors.dim);
  }
  if (findings.length > TOLD)
    output.line(colors.dim(`  … and ${findings.length - TOLD} more; --json lists them all`));
}

function headline(result: CheckResult, colors: Colors): string {
  const { check } = result;
  switch (result.outcome) {
    case 'skipped':
      return colors.dim(`- ${check}: ${result.reason}`);
    case 'failed':
      return `${colors.yellow('?')} ${check}: could not be checked: ${result.reason}`;
    case 'checked': {
      const problems = result.findings.filter((finding) => finding.severity === 'problem').length;
      return problems === 0
        ? `${colors.green('✓')} ${check}`
        : `${colors.red('✗')} ${check}: ${counted(problems, 'problem')}`;
    }
  }
}

const allFindings = (results: readonly CheckResult[]): Finding[] =>
  results.flatMap((result) => (result.outcome === 'checked' ? result.findings : []));

/** Applies the first repair of a row; the next run finds the rest. */
async function repair(
  { terminal }: CliContext,
  system: System,
  output: Output,
  results: readonly CheckResult[],
  options: DoctorCommandOptions,
): Promise<Repaired[] | undefined> {
  if (options.repair !== true) return undefined;
  const repairable = allFindings(results).filter(isRepairable);
  const first = [
    ...new Map(repairable.toReversed().map((finding) => [finding.jobId, finding])).values(),
  ].toReversed();
  if (first.length === 0) return [];
  if (options.dryRun === true) {
    output.line(`${counted(first.length, 'row')} would be repaired; nothing was changed.`);
    return undefined;
  }
  if (first.some((finding) => finding.repair.dispatch !== undefined)) system.queueUrl();
  if (!(await confirmed(terminal, `Repair ${counted(first.length, 'row')}?`, options))) return undefined;
  const repaired = await repairRows(system, output, first);
  for (const { jobId, outcome, message } of repaired)
    output.line(
      `${outcome === 'repaired' ? output.colors.green('repaired') : output.colors.yellow(outcome)} ${jobId}  ${message}`,
    );
  return repaired;
}

function conclude(
  output: Output,
  results: readonly CheckResult[],
  repaired: readonly Repaired[] | undefined,
  health: Health | undefined,
): ExitCode {
  const fixed = new Set(
    repaired?.filter(({ outcome }) => outcome === 'repaired').map(({ finding }) => finding),
  );
  const left = allFindings(results).filter(
    (finding) => finding.severity === 'problem' && !fixed.has(finding),
  );
  const unchecked = results.filter(({ outcome }) => outcome === 'failed').length;
  const { colors } = output;
  output.line();
  if (left.length > 0) output.line(colors.red(counted(left.length, 'problem')));
  if (unchecked > 0) output.line(colors.yellow(`${counted(unchecked, 'check')} could not be run`));
  const isUnhealthy = health !== undefined && health.state !== 'healthy';
  if (isUnhealthy) output.line(colors.red(`not healthy: ${counted(health.reasons.length, 'reason')} above`));
  if (left.length === 0 && unchecked === 0 && !isUnhealthy)
    output.line(colors.green(fixed.size > 0 ? 'no problems left' : 'no problems'));
  return left.length > 0 || isUnhealthy
    ? exitCodes.refused
    : unchecked > 0
      ? exitCodes.unusable
      : exitCodes.ok;
}

const withoutWrites = (result: CheckResult) =>
  result.outcome === 'checked'
    ? {
        ...result,
        findings: result.findings.map(({ repair, ...finding }) => ({
          ...finding,
          repairable: repair !== undefined,
        })),
      }
    : result;
