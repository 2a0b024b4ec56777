import { Command } from 'commander';
import { clientConfig } from '../../../aws/client-defaults.ts';
import type { DeployedSchedule } from '../../../aws/deployed-schedules.ts';
import { isOnAws } from '../../../aws/sqs/queue-age.ts';
import {
  expressionOf,
  type Schedule,
  type Schedules,
  timetableOf,
} from '../../../client/schedules/schedule.ts';
import { defined } from '../../../wire/defined.ts';
import { resourceVariables } from '../../../wire/environment.ts';
import { scheduleGroupOf } from '../../../wire/schedule-group.ts';
import { formatAge } from '../../inspect/format-duration.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  numberOption,
  withExamples,
  withJson,
  withoutSystem,
  withWide,
} from '../define-command.ts';
import { findLocalState } from '../system/find-system.ts';
import type { Output } from '../terminal/output.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Cell } from '../terminal/text-table.ts';
import { formatInstant } from '../terminal/time.ts';

interface SchedulesOptions {
  readonly service?: string;
  readonly region?: string;
  readonly ticks: number;
  readonly json?: boolean;
  readonly wide?: boolean;
}

interface ListedSchedule {
  readonly name: string;
  readonly when: string;
  readonly timeZone?: string;
  readonly type: string;
  readonly isEnabled: boolean;
  readonly next: readonly number[];
}

export function createCommand(context: CliContext): Command {
  const command = withJson(withWide(new Command('schedules')))
    .description('list recurring jobs and their next ticks')
    .option(
      '--service <name>',
      `the deployment (default: ${resourceVariables.serviceName}, or the local stack)`,
    )
    .option('--region <region>', 'AWS region (default: the usual AWS settings)')
    .option('-n, --ticks <n>', 'ticks to show of each', numberOption(1, 100), 3)
    .action((options: SchedulesOptions) =>
      withoutSystem(context, options, async (output) => {
        const { terminal } = context;
        const listed = await listSchedules(terminal, options);
        output.json({ schedules: listed });
        show(output, listed, terminal);
        return exitCodes.ok;
      }),
    );
  return withExamples(
    command,
    'leasehold schedules',
    'leasehold schedules --service Leasehold-Jobs --ticks 5 --json',
  );
}

async function listSchedules(terminal: Terminal, options: SchedulesOptions): Promise<ListedSchedule[]> {
  const now = terminal.clock.now();
  const own = defined({ AWS_REGION: options.region });
  const config = clientConfig({ ...terminal.environment, ...own }, 'SCHEDULER');
  const { [resourceVariables.queueUrl]: queueUrl, [resourceVariables.serviceName]: named } =
    terminal.environment;
  // What `leasehold dev --env` prints names a service that AWS does not have.
  const isLocal = Boolean(queueUrl) && !isOnAws(queueUrl ?? '') && config.endpoint === undefined;
  const service = options.service ?? (isLocal ? undefined : named);
  if (!service) {
    const local = findLocalState(terminal.directory);
    if (local === undefined)
      throw new CliError(
        `No deployment is named. Add --service NAME (an output of the stack) or export ${resourceVariables.serviceName}; on this machine, start 'leasehold dev' in this folder or above it`,
      );
    return localSchedules(local.schedules ?? {}, now, options.ticks);
  }
  const { readDeployedSchedules } = await import('../../../aws/deployed-schedules.ts');
  const group = scheduleGroupOf(service);
  const deployed = await readDeployedSchedules(group, config);
  if (deployed === undefined)
    throw new CliError(
      `There is no schedule group '${group}' in this account and region, so '${service}' is not deployed here. Check --service (the stack's output ServiceName) and --region`,
      exitCodes.refused,
    );
  return deployed.map((each) => tellDeployed(each, now, options.ticks));
}

const localSchedules = (schedules: Schedules, now: number, ticks: number): ListedSchedule[] =>
  Object.entries(schedules).map(([name, schedule]) => ({
    name,
    when: expressionOf(schedule),
    timeZone: schedule.timeZone,
    type: schedule.type,
    isEnabled: true,
    next: ticksOf(schedule, 0, now, ticks),
  }));

/** Deployed schedules may have been edited by hand; unreadable ones are listed without ticks. */
function tellDeployed(deployed: DeployedSchedule, now: number, ticks: number): ListedSchedule {
  const { name, expression, timeZone, isEnabled, createdAt } = deployed;
  const type = typeIn(deployed.input);
  const [, kind, inner = ''] = /^(cron|rate)\((.+)\)$/.exec(expression) ?? [];
  const schedule: Schedule = kind === 'cron' ? { cron: inner, timeZone, type } : { rate: inner, type };
  const next = isEnabled && kind !== undefined ? ticksOf(schedule, createdAt, now, ticks) : [];
  return { name, when: expression, timeZone, type, isEnabled, next };
}

function typeIn(input: string): string {
  try {
    return String((JSON.parse(input) as { readonly type?: unknown }).type ?? '?');
  } catch {
    return '?';
  }
}

function ticksOf(schedule: Schedule, anchor: number, now: number, count: number): number[] {
  const ticks: number[] = [];
  try {
    const timetable = timetableOf(schedule, anchor);
    for (let at = timetable.next(now); at !== undefined && ticks.length < count; at = timetable.next(at)) {
      if (Number.isNaN(at)) break;
      ticks.push(at);
    }
  } catch {
    // Not one of ours.
  }
  return ticks;
}

function show(output: Output, listed: readonly ListedSchedule[], terminal: Terminal): void {
  const { colors } = output;
  if (listed.length === 0) {
    output.line(colors.dim('There are no recurring jobs.'));
    return;
  }
  const now = terminal.clock.now();
  const shown = (at: number, i: number) =>
    i === 0 ? `${formatInstant(at, terminal)} (${formatAge(at, now)})` : formatInstant(at, terminal);
  output.table({
    columns: [
      { title: 'NAME', min: 12, cut: 'middle' },
      { title: 'WHEN', min: 12 },
      { title: 'TIME ZONE', leaveOut: 2 },
      { title: 'TYPE', min: 8, cut: 'middle', leaveOut: 1 },
      { title: 'NEXT', min: 23 },
    ],
    rows: listed.flatMap(({ name, when, timeZone = 'UTC', type, isEnabled, next }): Cell[][] => {
      const [first, ...others] = isEnabled ? next.map(shown) : [];
      const soonest: Cell = isEnabled ? (first ?? '–') : ['disabled', colors.yellow];
      return [[name, when, timeZone, type, soonest], ...others.map((tick) => ['', '', '', '', tick])];
    }),
  });
}
