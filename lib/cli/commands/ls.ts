import { Command, Option } from 'commander';
import { ScanNeededError } from '../../client/errors.ts';
import { type ListedJob, type Listing, listJobs, listStatuses, MAX_LISTED } from '../../client/list-jobs.ts';
import { type ScanCost, scanCostOf } from '../../client/scan-cost.ts';
import { formatDollars } from '../../cost/format-dollars.ts';
import { counted } from '../../inspect/counted.ts';
import { formatAge } from '../../inspect/format-duration.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  durationOption,
  listOption,
  numberOption,
  onSystem,
  withExamples,
  withSystem,
} from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { describeLease, paintStatus } from '../format-job.ts';
import { firstLine, type Output, shorten } from '../output.ts';
import type { System } from '../system.ts';

interface LsOptions extends SystemOptions {
  readonly status: (typeof listStatuses)[number];
  readonly type?: readonly string[];
  readonly owner?: string;
  readonly olderThan?: number;
  readonly limit: number;
  readonly cursor?: string;
  readonly scan?: boolean;
}

/** `leasehold ls`: jobs by status, from the indexes; by a scan only when asked for it. */
export function lsCommand(context: CliContext): Command {
  const command = new Command('ls')
    .alias('list')
    .description('list jobs by status, type, age or owner, without scanning the table')
    .addOption(new Option('-s, --status <status>', 'which jobs').choices(listStatuses).default('unfinished'))
    .option('-t, --type <type>', 'only this type (repeat, or separate with commas)', listOption)
    .option('-o, --owner <owner>', 'only jobs leased to this worker or claim')
    .option('--older-than <duration>', 'only jobs in their status for longer than this', durationOption)
    .option('-n, --limit <n>', 'jobs to show', numberOption(1, MAX_LISTED), 50)
    .option('--cursor <cursor>', 'continue where an earlier listing stopped')
    .option('--scan', 'read the whole table: the only way to find done and cancelled jobs')
    .action((options: LsOptions) =>
      onSystem(context, options, async (system, output) => {
        const now = context.terminal.clock.now();
        const listing = await list(system, output, options, now);
        show(system, output, listing, now);
        if (options.status === 'unfinished' && listing.jobs.length === 0)
          output.note(
            'Only pending and running jobs were listed. Others: --status failed, --status done --scan',
          );
        return exitCodes.ok;
      }),
    );
  return withExamples(
    withSystem(command),
    'leasehold ls --status running --older-than 10m',
    'leasehold ls --status failed --type email --json',
    'leasehold ls --status done --scan --limit 20',
  );
}

async function list(system: System, output: Output, options: LsOptions, now: number): Promise<Listing> {
  const { status, scan, limit, owner, cursor } = options;
  if (scan === true)
    output.note(
      `Scanning the table for ${status} jobs: ${priceOf(await scanCostOf(system))} if read to the end.`,
    );
  try {
    return await listJobs(system, {
      ...{ status, scan, limit, owner, cursor },
      types: options.type,
      before: options.olderThan === undefined ? undefined : now - options.olderThan,
    });
  } catch (error) {
    if (!(error instanceof ScanNeededError)) throw error;
    throw new CliError(
      `No index holds ${status} jobs: listing them reads the whole table (${priceOf(error.cost)}). Add --scan to do it`,
      exitCodes.refused,
    );
  }
}

/** What reading the whole table costs, in words. */
const priceOf = ({ rows, readUnits, dollars }: ScanCost): string =>
  `about ${counted(rows, 'row')}, ${counted(readUnits, 'read unit')}, ${formatDollars(dollars)}`;

function show(system: System, output: Output, { jobs, cursor, bad, looked }: Listing, now: number): void {
  output.json({ jobs: jobs.map(asJson), cursor, bad });
  if (jobs.length > 0) {
    output.table({
      head: ['JOB', 'TYPE', 'STATUS', 'ATTEMPT', 'SINCE', 'OWNER', 'STATE'],
      rows: jobs.map((job) => rowOf(job, system, output, now)),
      right: [3],
    });
  }
  const filtered = looked > jobs.length ? ` of ${looked} read` : '';
  output.line(output.colours.dim(`${counted(jobs.length, 'job')}${filtered}`));
  if (cursor !== undefined) output.line(output.colours.dim(`more: add --cursor ${cursor}`));
  for (const message of bad) output.note(message);
}

function rowOf(job: ListedJob, { settings }: System, { colours }: Output, now: number): string[] {
  const state =
    job.lease === undefined
      ? firstLine(job.lastError ?? '', 60)
      : describeLease(job.lease, now, settings, colours);
  return [
    job.jobId,
    job.type,
    paintStatus(job.status, colours),
    String(job.attempt),
    job.since === undefined || job.since === 0 ? '' : formatAge(job.since, now),
    shorten(job.owner ?? '', 32),
    state,
  ];
}

const asJson = ({ lease, ...job }: ListedJob) => ({
  ...job,
  leaseUntil: lease?.leaseUntil,
  notBefore: lease?.notBefore,
});
