import { Command, Option } from 'commander';
import { ScanNeededError } from '../../../client/errors.ts';
import {
  type ListedJob,
  type Listing,
  listJobs,
  listStatuses,
  MAX_LISTED,
} from '../../../client/list-jobs.ts';
import { type ScanCost, scanCostOf } from '../../../client/scan-cost.ts';
import { counted } from '../../inspect/counted.ts';
import { formatRoughly } from '../../inspect/format-duration.ts';
import { shortWorkerOf } from '../../inspect/worker-name.ts';
import { formatDollars } from '../../plan/format-dollars.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  durationOption,
  listOption,
  numberOption,
  onSystem,
  withExamples,
  withSystem,
  withWide,
} from '../define-command.ts';
import { leaseCell, statusCell } from '../format-job.ts';
import type { SystemOptions } from '../system/find-system.ts';
import type { System } from '../system/system.ts';
import { firstLine, type Output } from '../terminal/output.ts';
import type { Cell, Column } from '../terminal/text-table.ts';

interface LsOptions extends SystemOptions {
  readonly status: (typeof listStatuses)[number];
  readonly type?: readonly string[];
  readonly owner?: string;
  readonly parked?: boolean;
  readonly key?: string;
  readonly olderThan?: number;
  readonly limit: number;
  readonly cursor?: string;
  readonly scan?: boolean;
}

export function createCommand(context: CliContext): Command {
  const command = new Command('ls')
    .description('list jobs by status, type, age or owner, without scanning the table')
    .addOption(new Option('-s, --status <status>', 'which jobs').choices(listStatuses).default('unfinished'))
    .option('-t, --type <type>', 'only this type (repeat, or separate with commas)', listOption)
    .option('-o, --owner <owner>', 'only jobs leased to this worker or claim')
    .option('--parked', 'only jobs that wait for a limit or a paused type')
    .option('--key <key>', 'only pending and running jobs with this key')
    .option('--older-than <duration>', 'only jobs in their status for longer than this', durationOption)
    .option('-n, --limit <n>', 'jobs to show', numberOption(1, MAX_LISTED), 50)
    .option('--cursor <cursor>', 'continue where an earlier listing stopped')
    .option('--scan', 'read the whole table: the only way to find done and cancelled jobs')
    .action((options: LsOptions) =>
      onSystem(context, options, async (system, output) => {
        const now = system.clock.now();
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
    withSystem(withWide(command)),
    'leasehold ls --status running --older-than 10m',
    'leasehold ls --status failed --type email --json',
    'leasehold ls --parked --type sync --key tenant-7',
    'leasehold ls --status done --scan --limit 20',
  );
}

async function list(system: System, output: Output, options: LsOptions, now: number): Promise<Listing> {
  const { status, scan, limit, owner, cursor, type: types, olderThan, parked, key } = options;
  if (scan === true)
    output.note(
      `Scanning the table for ${status} jobs: ${priceOf(await scanCostOf(system))} if read to the end.`,
    );
  try {
    const before = olderThan === undefined ? undefined : now - olderThan;
    return await listJobs(system, { status, scan, limit, owner, parked, key, cursor, types, before });
  } catch (error) {
    if (!(error instanceof ScanNeededError)) throw error;
    throw new CliError(
      `No index holds ${status} jobs: listing them reads the whole table (${priceOf(error.cost)}). Add --scan to do it`,
      exitCodes.refused,
    );
  }
}

const priceOf = ({ rows, readUnits, dollars }: ScanCost): string =>
  `about ${counted(rows, 'row')}, ${counted(readUnits, 'read unit')}, ${formatDollars(dollars)}`;

/** Ids stay whole, because people copy them. */
const columnsFor = (jobs: readonly ListedJob[]): readonly Column[] => [
  { title: 'JOB', min: 36, cut: 'middle' },
  { title: 'TYPE', min: 8, cut: 'middle' },
  'STATUS',
  { title: '#', right: true, leaveOut: 2 },
  { title: 'FOR', leaveOut: 3 },
  { title: 'OWNER', min: 10, cut: 'middle', leaveOut: 1 },
  { title: 'STATE', min: jobs.some(({ lastError }) => lastError !== undefined) ? ERROR_WIDTH : 18 },
];

/** A shorter error says nothing, so the owner gives way first. */
const ERROR_WIDTH = 30;

function show(system: System, output: Output, { jobs, cursor, bad, looked }: Listing, now: number): void {
  output.json({ jobs: jobs.map(asJson), cursor, bad });
  if (output.isJson) return;
  const leftOut =
    jobs.length === 0
      ? []
      : output.table({ columns: columnsFor(jobs), rows: jobs.map((job) => rowOf(job, system, output, now)) });
  const filtered = looked > jobs.length ? ` of ${looked} read` : '';
  const wide = leftOut.length === 0 ? '' : `; --wide shows ${leftOut.join(', ')}`;
  output.line(output.colors.dim(`${counted(jobs.length, 'job')}${filtered}${wide}`));
  if (cursor !== undefined) output.line(output.colors.dim(`more: --cursor ${cursor}`));
  for (const message of bad) output.note(message);
}

function rowOf(job: ListedJob, { settings }: System, { colors, width }: Output, now: number): Cell[] {
  const isAhead = job.since !== undefined && job.since > now;
  const owner = job.owner ?? '';
  return [
    job.jobId,
    job.type,
    statusCell(job.quarantined === true ? 'quarantined' : job.status, colors),
    String(job.attempt),
    job.since === undefined || job.since === 0 || isAhead ? '' : formatRoughly(now - job.since),
    width === Number.POSITIVE_INFINITY ? owner : shortWorkerOf(owner),
    job.lease === undefined ? firstLine(job.lastError ?? '') : leaseCell(job.lease, now, settings, colors),
  ];
}

const asJson = ({ lease, ...job }: ListedJob) => ({
  ...job,
  leaseUntil: lease?.leaseUntil,
  notBefore: lease?.notBefore,
});
