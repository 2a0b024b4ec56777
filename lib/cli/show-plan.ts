import asciichart from 'asciichart';
import { formatDollars } from '../cost/format-dollars.ts';
import type { LeaseChoice } from '../cost/lease-trade.ts';
import type { Plan, PlanSettings, Workload } from '../cost/plan.ts';
import type { Prices } from '../cost/prices.ts';
import { formatDuration } from '../inspect/format-duration.ts';
import { carriedAtOnce } from '../settings/partitions.ts';
import type { Colours, Output } from './output.ts';

interface Shown {
  readonly workload: Workload;
  readonly settings: PlanSettings;
  readonly plan: Plan;
  readonly choices: readonly LeaseChoice[];
  readonly curve: readonly LeaseChoice[];
  readonly prices: Prices;
}

const PLOT_HEIGHT = 8;
const LABEL_WIDTH = 10;

/** The plan for people: figures, cost by part, and the trade-off between lease lengths as a table and a plot. */
export function showPlan(output: Output, shown: Shown): void {
  showFigures(output, shown);
  showCosts(output, shown);
  showTrade(output, shown);
  showPlots(output, shown);
}

const round = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });

function showFigures(output: Output, { workload, settings, plan }: Shown): void {
  const { colours } = output;
  const { table, index } = plan.writeUnitsPerSecond;
  const row = (name: string, value: string) => output.line(`${colours.dim(name.padEnd(18))} ${value}`);
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

function showCosts(output: Output, { plan, prices }: Shown): void {
  const { colours } = output;
  output.line();
  output.table({
    head: ['A MONTH', 'FOR', 'AMOUNT', 'UNIT', 'COST'],
    rows: [
      ...plan.lines.map(({ what, group, amount, unit, dollars }) => [
        what,
        group,
        round(amount),
        unit,
        formatDollars(dollars),
      ]),
      [colours.bold('total'), '', '', '', colours.bold(formatDollars(plan.monthlyDollars))],
    ],
    right: [2, 4],
  });
  output.line(
    colours.dim(
      `${formatDollars(plan.dollarsPerMillionJobs)} for a million jobs. List prices of ${prices.region}, ${prices.asOf}, on demand, without free tiers and data transfer.`,
    ),
  );
}

function showTrade(output: Output, { choices, settings }: Shown): void {
  const { colours } = output;
  output.line();
  output.line(colours.bold('Shorter leases find a dead worker sooner and cost more heartbeats'));
  output.table({
    head: [
      '',
      'LEASE',
      'HEARTBEAT',
      'BEATS A JOB',
      'INDEX UNITS/S',
      'SHARDS',
      'HEARTBEATS',
      'TOTAL',
      'RECOVERY',
      'AT WORST',
    ],
    rows: choices.map(({ leaseMs, heartbeatMs, plan }) => {
      const isChosen = leaseMs === settings.leaseMs;
      const cells = [
        formatDuration(leaseMs),
        formatDuration(heartbeatMs),
        round(plan.beatsPerJob),
        round(plan.writeUnitsPerSecond.index),
        String(plan.shards),
        formatDollars(plan.heartbeatDollars),
        formatDollars(plan.monthlyDollars),
        formatDuration(plan.recovery.usualMs),
        formatDuration(plan.recovery.worstMs),
      ];
      return isChosen ? [colours.green('→'), ...cells.map((cell) => colours.green(cell))] : ['', ...cells];
    }),
    right: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  });
}

function showPlots(output: Output, { curve }: Shown): void {
  const { colours } = output;
  const dollars = curve.map(({ plan }) => plan.heartbeatDollars);
  const seconds = curve.map(({ plan }) => plan.recovery.usualMs / 1000);
  output.line();
  output.line(colours.bold('Heartbeats, $ a month'));
  output.line(colours.yellow(plot(dollars)));
  output.line(axis(curve, colours));
  output.line();
  output.line(colours.bold('Recovery, seconds'));
  output.line(colours.cyan(plot(seconds)));
  output.line(axis(curve, colours));
}

const plot = (values: readonly number[]): string =>
  asciichart
    .plot([...values], {
      height: PLOT_HEIGHT,
      format: (value: number) => round(Math.max(0, value)).padStart(LABEL_WIDTH),
    })
    .split('\n')
    .map((line: string) => line.trimEnd())
    .join('\n');

/** Lease lengths under the plot: its ends and its middle, evenly spaced because the axis is logarithmic. */
function axis(curve: readonly LeaseChoice[], colours: Colours): string {
  const at = (index: number) => formatDuration(curve[index]?.leaseMs ?? 0);
  const width = curve.length;
  const [first, middle, last] = [at(0), at(Math.floor(width / 2)), at(width - 1)];
  const left =
    first +
    ' '.repeat(Math.max(1, Math.floor(width / 2) - first.length - Math.floor(middle.length / 2))) +
    middle;
  const line = left + ' '.repeat(Math.max(1, width - left.length - last.length)) + last;
  return colours.dim(`${' '.repeat(LABEL_WIDTH + 2)}${line}  lease`);
}
