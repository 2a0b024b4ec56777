import { Command, Option } from 'commander';
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
import { type ListedJob, type Listing, listByScan, listFailed, listUnfinished } from '../list-jobs.ts';
import { firstLine, type Output, shorten } from '../output.ts';
import { scanCostOf } from '../scan-cost.ts';
import type { System } from '../system.ts';

const STATUSES = ['unfinished', 'pending', 'running', 'failed', 'done', 'cancelled'] as const;

interface LsOptions extends SystemOptions {
  readonly status: (typeof STATUSES)[number];
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
    .addOption(new Option('-s, --status <status>', 'which jobs').choices(STATUSES).default('unfinished'))
    .option('-t, --type <type>', 'only this type (repeat, or separate with commas)', listOption)
    .option('-o, --owner <owner>', 'only jobs leased to this worker or claim')
    .option('--older-than <duration>', 'only jobs in their status for longer than this', durationOption)
    .option('-n, --limit <n>', 'jobs to show', numberOption(1, 10_000), 50)
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
  const request = {
    limit: options.limit,
    types: options.type,
    owner: options.owner,
    before: options.olderThan === undefined ? undefined : now - options.olderThan,
    cursor: options.cursor,
  };
  switch (options.status) {
    case 'unfinished':
      return listUnfinished(system, ['running', 'pending'], request);
    case 'pending':
    case 'running':
      return listUnfinished(system, [options.status], request);
    case 'failed':
      if (options.scan === true) return scan(system, output, options.status, request);
      return listFailed(system, request);
    case 'done':
    case 'cancelled': {
      if (options.scan !== true)
        throw new CliError(
          `No index holds ${options.status} jobs: listing them reads the whole table (${await scanCost(system)}). Add --scan to do it`,
          exitCodes.refused,
        );
      return scan(system, output, options.status, request);
    }
  }
}

async function scan(
  system: System,
  output: Output,
  status: string,
  request: Parameters<typeof listByScan>[2],
) {
  output.note(`Scanning the table for ${status} jobs: ${await scanCost(system)} if read to the end.`);
  return listByScan(system, status, request);
}

/** What reading the whole table costs, in words. */
async function scanCost(system: System): Promise<string> {
  const { rows, readUnits, dollars } = await scanCostOf(system);
  return `about ${counted(rows, 'row')}, ${counted(readUnits, 'read unit')}, ${formatDollars(dollars)}`;
}

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
