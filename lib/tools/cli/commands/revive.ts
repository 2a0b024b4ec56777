import { Command } from 'commander';
import { actOnJob } from '../../../client/act-on-job.ts';
import type { Job } from '../../../protocol/job.ts';
import { formatAge } from '../../inspect/format-duration.ts';
import { CliError, type ExitCode } from '../cli-error.ts';
import {
  type CliContext,
  listOption,
  numberOption,
  onSystem,
  parseJobIds,
  pastOption,
  positiveOption,
  withExamples,
  withSystem,
  withWide,
} from '../define-command.ts';
import { operate, reportOperated } from '../operate.ts';
import { type ReviveManyOptions, reviveMany } from '../revive-many.ts';
import type { SystemOptions } from '../system/find-system.ts';
import type { System } from '../system/system.ts';
import type { Output } from '../terminal/output.ts';
import type { Terminal } from '../terminal/terminal.ts';

type ReviveOptions = SystemOptions & ReviveManyOptions;

export function createCommand(context: CliContext): Command {
  const command = new Command('revive')
    .description('run failed or cancelled jobs again, with new budgets: by id, or all failed jobs that match')
    .argument('[id...]', 'job ids; without them, give at least one of the next five options', parseJobIds)
    .option('-t, --type <type>', 'failed jobs of this type (repeat, or separate with commas)', listOption)
    .option('-e, --error <text>', 'whose last error contains this text (any case)')
    .option('--since <instant>', 'that failed since then (ISO 8601, or a duration ago)', pastOption)
    .option('--until <instant>', 'that failed until then (ISO 8601, or a duration ago)', pastOption)
    .option('--quarantined', 'that crashed or lost their worker too often')
    .option('--now', 'run jobs at once even if they were due later')
    .option('-n, --limit <n>', 'at most this many', numberOption(1, 1_000_000), 10_000)
    .option('--rate <n>', 'at most this many per second', positiveOption, 50)
    .option('--dry-run', 'only show what would be done')
    .option('-y, --yes', 'do not ask')
    .action((ids: readonly string[], options: ReviveOptions) =>
      onSystem(context, options, (system, output) => revive(context.terminal, system, output, ids, options)),
    );
  return withExamples(
    withSystem(withWide(command)),
    'leasehold revive report-2026-03 report-2026-04',
    'leasehold revive --type email --error ETIMEDOUT --since 2h --dry-run',
    'leasehold revive --quarantined --rate 5 --yes',
  );
}

async function revive(
  terminal: Terminal,
  system: System,
  output: Output,
  ids: readonly string[],
  options: ReviveOptions,
): Promise<ExitCode> {
  const { type, error, since, until, quarantined } = options;
  const isFiltered = [type, error, since, until, quarantined].some((given) => given !== undefined);
  if (ids.length > 0 === isFiltered)
    throw new CliError(
      isFiltered
        ? `Give either job ids or a filter; got both, '${ids[0]}' among them`
        : "Name what to run again: job ids, or --type, --error, --since, --until or --quarantined. 'leasehold ls --status failed' lists failed jobs",
    );
  if (isFiltered) return reviveMany(terminal, system, output, options);
  if (options.dryRun === true)
    throw new CliError('--dry-run is for filters; leave it out, or leave the ids out');
  system.queueUrl();
  const results = await operate(system, ids, {
    act: 'revive',
    apply: (id) => actOnJob(system, id, 'revive', { now: options.now }),
    done: (job) => revivedAs(job, terminal.clock.now()),
  });
  return reportOperated(output, results);
}

function revivedAs(job: Job, now: number): string {
  const next = `pending again, attempt ${job.attempt + 1} is next`;
  return job.status === 'pending' && job.notBefore > now
    ? `${next}, due ${formatAge(job.notBefore, now)}; --now runs it at once`
    : next;
}
