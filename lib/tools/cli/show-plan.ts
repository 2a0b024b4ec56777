import { carriedAtOnce } from '../../settings/partitions.ts';
import { formatDuration } from '../inspect/format-duration.ts';
import { formatDollars } from '../plan/format-dollars.ts';
import type { Plan, PlanSettings, Workload } from '../plan/plan.ts';
import type { Prices } from '../plan/prices.ts';
import type { Output } from './terminal/output.ts';
import type { Cell } from './terminal/text-table.ts';

interface Shown {
  readonly workload: Workload;
  readonly settings: PlanSettings;
  readonly plan: Plan;
  readonly prices: Prices;
}

export function showPlan(output: Output, shown: Shown): void {
  showFigures(output, shown);
  showCosts(output, shown);
}

const round = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });

const NAMES = 16;

function showFigures(output: Output, { workload, settings, plan }: Shown): void {
  const { colors } = output;
  const { table, index } = plan.writeUnitsPerSecond;
  const row = (name: string, value: string) => output.say(colors.dim(name.padEnd(NAMES)), value);
  row(
    'workload',
    `${round(workload.rate)} jobs a second, ${formatDuration(workload.durationMs)} each, ${round(plan.running)} running`,
  );
  row(
    'lease',
    `${formatDuration(settings.leaseMs)}, a heartbeat every ${formatDuration(settings.heartbeatMs)}: ${round(plan.beatsPerJob)} a job`,
  );
  row('write units', `${round(table + index)} a second: ${round(table)} table, ${round(index)} index`);
  row(
    'shards needed',
    `${plan.shards}; a new index carries ${round(carriedAtOnce(Math.max(plan.shards, settings.shards)))} units a second from its first minute`,
  );
  row('recovery', recovery(plan));
}

const recovery = ({ recovery: { usualMs, worstMs } }: Plan): string =>
  `${formatDuration(usualMs)} after a worker's death; ${formatDuration(worstMs)} at worst, when the reaper dies as well`;

const groups = {
  coordination: 'Coordination: rows, queue, reaper',
  operations: 'Operations: alarms, logs, backups',
  compute: 'Compute: your handlers',
} as const;

function showCosts(output: Output, { workload, plan, prices }: Shown): void {
  const { colors } = output;
  output.line();
  const rows = Object.entries(groups).flatMap(([group, title]): Cell[][] => {
    const lines = plan.lines.filter((line) => line.group === group);
    if (lines.length === 0) return [];
    const sum = plan.dollars[group as keyof typeof groups];
    return [
      [[title, colors.bold], '', '', [formatDollars(sum), colors.bold]],
      ...lines.map(({ what, amount, unit, dollars }): Cell[] => [
        `  ${what}`,
        round(amount),
        unit,
        [formatDollars(dollars), colors.dim],
      ]),
    ];
  });
  output.table({
    columns: [
      { title: 'A MONTH', min: 30 },
      { title: 'AMOUNT', right: true, leaveOut: 1 },
      { title: 'UNIT', leaveOut: 2 },
      { title: 'COST', right: true },
    ],
    rows: [...rows, [['Together', colors.bold], '', '', [formatDollars(plan.monthlyDollars), colors.bold]]],
  });
  const { coordination, operations } = plan.dollars;
  const jobs = plan.dollarsPerMillionJobs / plan.monthlyDollars;
  output.say(
    '',
    colors.dim(
      `A million jobs: ${formatDollars((coordination + operations) * jobs)} for Leasehold, ${workload.host.kind === 'lambda' ? `${formatDollars(plan.dollars.compute * jobs)} for compute` : 'compute is paid for elsewhere'}. List prices of ${prices.region}, ${prices.asOf}, on demand, without free tiers and data transfer.`,
    ),
  );
}
