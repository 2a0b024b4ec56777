import { Command } from 'commander';
import { hintsFor } from '../../../client/act-on-job.ts';
import { type ListedJob, listFailed } from '../../../client/list-jobs.ts';
import type { Hint } from '../../../protocol/ports.ts';
import { BAD_MESSAGE_TYPE } from '../../../wire/table.ts';
import { counted } from '../../inspect/counted.ts';
import { formatAge } from '../../inspect/format-duration.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  listOption,
  numberOption,
  onSystem,
  pastOption,
  positiveOption,
  withExamples,
  withSystem,
  withWide,
} from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { type Operated, operate, sendHints } from '../operate.ts';
import type { System } from '../system.ts';
import { confirmed } from '../terminal/confirmed.ts';
import { firstLine, type Output } from '../terminal/output.ts';
import { createProgressBar } from '../terminal/progress-bar.ts';
import { parseInstant } from '../terminal/time.ts';

interface RedriveOptions extends SystemOptions {
  readonly type?: readonly string[];
  readonly error?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  readonly rate: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Jobs revived between two rate checks. */
const GROUP = 10;
/** Jobs that a dry run lists. */
const NAMED = 20;

export function createCommand(context: CliContext): Command {
  const command = new Command('redrive')
    .description('run many failed jobs again, chosen by type, error or time, at a bounded rate')
    .option('-t, --type <type>', 'failed jobs of this type (repeat, or separate with commas)', listOption)
    .option('-e, --error <text>', 'only those whose last error contains this text (any case)')
    .option(
      '--since <instant>',
      'only those that failed since then (ISO 8601, or a duration ago)',
      pastOption,
    )
    .option(
      '--until <instant>',
      'only those that failed until then (ISO 8601, or a duration ago)',
      pastOption,
    )
    .option('-n, --limit <n>', 'at most this many jobs', numberOption(1, 1_000_000), 10_000)
    .option('--rate <n>', 'jobs per second', positiveOption, 50)
    .option('--dry-run', 'only say what would be done')
    .option('-y, --yes', 'do not ask')
    .action((options: RedriveOptions) =>
      onSystem(context, options, (system, output) => redrive(context, system, output, options)),
    );
  return withExamples(
    withSystem(withWide(command)),
    'leasehold redrive --type email --error ETIMEDOUT --since 2h --dry-run',
    'leasehold redrive --type email --since 2h --rate 20 --yes',
  );
}

async function redrive(context: CliContext, system: System, output: Output, options: RedriveOptions) {
  const { terminal } = context;
  const types = typesOf(options, output);
  const { chosen, untold } = await choose(system, types, options, terminal.clock.now());
  for (const message of untold) output.note(message);
  if (options.dryRun === true || chosen.length === 0) return sayOnly(output, chosen, terminal.clock.now());
  system.queueUrl();
  const question = `Run ${counted(chosen.length, 'failed job')} of ${types.join(', ')} again, ${options.rate} per second?`;
  if (!(await confirmed(terminal, question, options))) return exitCodes.refused;
  const results = await reviveAll(context, system, output, chosen, options.rate);
  const revived = results.filter((result) => result.outcome === 'written').length;
  const refused = results.filter((result) => result.outcome !== 'written');
  output.json({ revived, refused, interrupted: terminal.interrupted.aborted });
  output.line(`${output.colours.green('revived')} ${counted(revived, 'job')}`);
  for (const { jobId, says } of refused)
    if (!output.isJson) output.note(`${output.colours.red('✗')} ${jobId}  ${says}`);
  if (terminal.interrupted.aborted)
    output.note(`Interrupted: ${counted(chosen.length - results.length, 'job')} left unchanged.`);
  return refused.length > 0 || terminal.interrupted.aborted ? exitCodes.refused : exitCodes.ok;
}

function typesOf(options: RedriveOptions, output: Output): readonly string[] {
  if (options.type === undefined)
    throw new CliError(
      "Name the type whose failed jobs to run again: --type TYPE. 'leasehold ls --status failed' lists them",
    );
  const types = options.type.filter((type) => type !== BAD_MESSAGE_TYPE);
  if (types.length < options.type.length)
    output.note(
      `Rejected messages (${BAD_MESSAGE_TYPE}) cannot be run again, because they cannot be read. Have their producers send valid ones.`,
    );
  if (types.length === 0)
    throw new CliError('No other type is named, so nothing can be run again', exitCodes.refused);
  return types;
}

async function choose(
  system: System,
  types: readonly string[],
  options: RedriveOptions,
  now: number,
): Promise<{ readonly chosen: readonly ListedJob[]; readonly untold: ReadonlySet<string> }> {
  const since = options.since === undefined ? undefined : parseInstant(options.since, now, 'ago');
  const before = options.until === undefined ? undefined : parseInstant(options.until, now, 'ago');
  const chosen: ListedJob[] = [];
  const untold = new Set<string>();
  let cursor: string | undefined;
  const wanted = options.error?.toLowerCase();
  do {
    const page = await listFailed(system, {
      types,
      limit: 500,
      since,
      before,
      cursor,
    });
    for (const job of page.jobs)
      if (wanted === undefined || job.lastError?.toLowerCase().includes(wanted)) chosen.push(job);
    for (const message of page.bad) untold.add(message);
    cursor = page.cursor;
  } while (cursor !== undefined && chosen.length < options.limit);
  return { chosen: chosen.slice(0, options.limit), untold };
}

function sayOnly(output: Output, chosen: readonly ListedJob[], now: number) {
  output.json({ revived: 0, dryRun: true, wouldRevive: chosen.map((job) => job.jobId) });
  if (chosen.length > 0)
    output.table({
      columns: [
        { title: 'JOB', min: 36, cut: 'middle' },
        { title: 'TYPE', min: 8, cut: 'middle', leaveOut: 1 },
        { title: 'FAILED', leaveOut: 2 },
        { title: 'LAST ERROR', min: 20 },
      ],
      rows: chosen
        .slice(0, NAMED)
        .map((job) => [
          job.jobId,
          job.type,
          job.since === undefined ? '' : formatAge(job.since, now),
          firstLine(job.lastError ?? ''),
        ]),
    });
  const more = chosen.length > NAMED ? ` (${NAMED} are shown)` : '';
  output.line(
    chosen.length === 0
      ? 'No failed job matches; nothing to run again.'
      : `${counted(chosen.length, 'job')} would run again${more}; nothing was changed.`,
  );
  return exitCodes.ok;
}

/** Sends each group's hints before the next group. */
async function reviveAll(
  { terminal }: CliContext,
  system: System,
  output: Output,
  chosen: readonly ListedJob[],
  rate: number,
): Promise<Operated[]> {
  const { clock, interrupted } = terminal;
  const progress = createProgressBar(terminal, output, 'reviving', chosen.length);
  const results: Operated[] = [];
  const from = clock.monotonic();
  for (let i = 0; i < chosen.length && !interrupted.aborted; i += GROUP) {
    const group = chosen.slice(i, i + GROUP).map((job) => job.jobId);
    const hints: Hint[] = [];
    const done = await operate(system, group, {
      act: 'revive',
      async apply(jobId) {
        const outcome = await system.store.revive(jobId);
        hints.push(...hintsFor(outcome, clock.now()));
        return outcome;
      },
      done: () => 'pending again',
    });
    results.push(...done);
    await sendHints(system, output, hints);
    progress.update(results.length);
    const ahead = (results.length / rate) * 1000 - (clock.monotonic() - from);
    if (ahead > 0 && results.length < chosen.length)
      await clock.sleep(ahead, interrupted).catch(() => undefined);
  }
  progress.end();
  return results;
}
