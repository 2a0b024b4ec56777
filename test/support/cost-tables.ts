import { resolveSettings } from '../../lib/settings/settings.ts';
import { SECONDS_A_MONTH } from '../../lib/tools/plan/bill.ts';
import { formatDollars } from '../../lib/tools/plan/format-dollars.ts';
import { jobUnits } from '../../lib/tools/plan/job-units.ts';
import { beatsOf, MEAN_INTERVAL, OWN_TIME, planFor, type Workload } from '../../lib/tools/plan/plan.ts';
import { listPrices } from '../../lib/tools/plan/prices.ts';
import { totalUnits } from '../../lib/tools/plan/write-units.ts';
import { alternativePrices } from './alternative-prices.ts';

/** The example of the page: a handler of 100 ms with 512 MB, a payload below 1 KB, a million of them in a month. */
const MILLION = 1e6;
const shortJobs: Workload = {
  ...{ rate: MILLION / SECONDS_A_MONTH, durationMs: 100, payloadBytes: 200, resultBytes: 64 },
  ...{ checkpointBytes: 0, checkpoints: 0, errorShare: 0, crashShare: 0 },
  host: { kind: 'lambda', memoryMb: 512 },
};
const IDLE: Workload = { ...shortJobs, rate: 0 };
const inProcess: Workload = { ...shortJobs, host: { kind: 'process' } };

const planned = (workload: Workload, settings: Readonly<Record<string, unknown>> = {}) =>
  planFor(workload, resolveSettings(settings), listPrices).lines;
const sum = (lines: readonly { readonly dollars: number }[]) =>
  lines.reduce((total, { dollars }) => total + dollars, 0);
const besidesCompute = (workload: Workload, settings?: Readonly<Record<string, unknown>>) =>
  sum(planned(workload, settings).filter(({ group }) => group !== 'compute'));
/** What one more million of jobs adds, besides compute. */
const furtherMillion = (workload: Workload, settings?: Readonly<Record<string, unknown>>) =>
  besidesCompute({ ...workload, rate: 2 * workload.rate }, settings) - besidesCompute(workload, settings);

const rowOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const tableOf = (head: readonly string[], rows: readonly (readonly string[])[], right: number) =>
  [rowOf(head), rowOf(head.map((_, i) => (i < right ? '---' : '---:'))), ...rows.map(rowOf)].join('\n');

/** Claims, completions and queue requests of one job, and what a million of them cost. */
function coordinationOf(workload: Workload, batchSize: number) {
  const lines = planned(workload, { batchSize });
  const perJob = (...names: string[]) =>
    lines
      .filter(({ what }) => names.includes(what))
      .reduce((total, { amount }) => total + amount / MILLION, 0);
  const [claim, complete, queue] = [perJob('claims'), perJob('completions'), perJob('queue (SQS)')];
  const dollars =
    (claim + complete) * listPrices.perMillionWriteUnits +
    queue * listPrices.perMillionQueueRequests +
    sum(lines.filter(({ what }) => what === OWN_TIME));
  const compute = sum(lines.filter(({ group }) => group === 'compute'));
  return { claim, complete, queue, dollars, compute };
}
const figure = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 1 });

/** A million short jobs, beside what people would pay for in their place. */
export function shortJobsTable(): string {
  const p = alternativePrices;
  const ours = (title: string, workload: Workload, batch: number) => {
    const { claim, complete, queue, dollars, compute } = coordinationOf(workload, batch);
    return [
      title,
      formatDollars(dollars),
      compute === 0 ? 'your own' : formatDollars(compute),
      `${figure(claim)} + ${figure(complete)} write units, ${figure(queue)} queue requests${compute === 0 ? '' : ', own time'}`,
    ];
  };
  const handler = formatDollars(coordinationOf(shortJobs, 1).compute);
  const theirs = (title: string, dollars: number, how: string) => [
    title,
    formatDollars(dollars),
    handler,
    how,
  ];
  return tableOf(
    ['system', 'coordination', 'compute', 'what is counted'],
    [
      ours('Leasehold on Lambda, one job an invocation', shortJobs, 1),
      ours('Leasehold on Lambda, batches of 10', shortJobs, 10),
      ours('Leasehold in a process', inProcess, 10),
      theirs(
        'Step Functions, standard',
        p.perMillionStateTransitions,
        '1 state transition at least, no retry',
      ),
      theirs(
        'Step Functions, express',
        p.perMillionExpressRequests + 0.0625 * 0.1 * MILLION * p.perExpressGbSecond,
        '1 request, 64 MB for 100 ms; 5 minutes at most, nothing kept',
      ),
      theirs(
        'Lambda durable functions',
        2 * p.perMillionDurableOperations,
        '2 operations: start and one step',
      ),
    ],
    1,
  );
}

const HOURS = [1, 24] as const;

/** Heartbeats of a thousand job-hours, next to the compute of the same hours. */
export function jobHoursTable(): string {
  const units = totalUnits(jobUnits(shortJobs).heartbeat);
  const ours = (given: Readonly<Record<string, unknown>>) => {
    const settings = resolveSettings(given);
    const title = `lease ${settings.leaseMs / 1000} s, beat every ${settings.heartbeatMs / 1000} s`;
    return [
      `Leasehold, ${title}`,
      ...HOURS.map((hours) => {
        const beats = beatsOf(hours * 3_600_000, settings);
        return formatDollars((((beats / hours) * 1000 * units) / MILLION) * listPrices.perMillionWriteUnits);
      }),
    ];
  };
  const p = alternativePrices;
  return tableOf(
    ['system', ...HOURS.map((hours) => `jobs of ${hours} h`)],
    [
      ours({}),
      ours({ leaseMs: 60_000 }),
      ours({ leaseMs: 300_000 }),
      [
        'Step Functions, standard, by callback',
        ...HOURS.map((hours) => formatDollars((p.perMillionStateTransitions / MILLION) * (1000 / hours))),
      ],
      [
        'Lambda durable functions, a step every 10 minutes',
        ...HOURS.map((hours) =>
          formatDollars(((1 + hours * 6) * 1000 * p.perMillionDurableOperations) / MILLION / hours),
        ),
      ],
      [
        '*compute: Lambda, 512 MB*',
        ...HOURS.map(() => formatDollars(1000 * 3600 * 0.5 * listPrices.perGbSecond)),
      ],
      [
        '*compute: Fargate, ¼ vCPU and 512 MB*',
        ...HOURS.map(() => formatDollars(1000 * (p.perFargateCpuHour / 4 + p.perFargateGbHour / 2))),
      ],
    ],
    1,
  );
}

/** How many short jobs a month cost as much as an instance that runs all the time. */
export function breakEvenTable(): string {
  const { dollars } = coordinationOf(inProcess, 10);
  const row = (what: string, perHour: number) => {
    const monthly = (perHour * SECONDS_A_MONTH) / 3600;
    return [what, formatDollars(monthly), `${figure(monthly / dollars)} million`];
  };
  return tableOf(
    ['store', 'a month, idle or busy', 'jobs a month at which Leasehold costs as much'],
    [
      row('Redis (ElastiCache, 2 × cache.t4g.small)', alternativePrices.perRedisHour),
      row('PostgreSQL (RDS, db.t4g.small, two zones)', alternativePrices.perPostgresHour),
    ],
    1,
  );
}

const LINES: Readonly<Record<string, RegExp>> = {
  'claims and completions': /^(claims|completions)$/,
  'queue, 3 requests a job \\*': /^queue/,
  'own time of workers \\*': /^own time/,
  'rows kept for 15 days': /^rows kept/,
  'the reaper': /^reaper:/,
  alarms: /^alarms/,
  'custom metrics': /^custom metrics/,
  'idle polls of the job queue and the dead-letter queue': /^idle polls of the other/,
  'logs \\*': /^logs of jobs/,
  'backups, point in time': /^backups/,
};

/** Everything on the bill of a month, idle and with a million short jobs. */
export function billTable(): string {
  const [idle, busy] = [planned(IDLE), planned(shortJobs)];
  const shown = (dollars: number) => (dollars === 0 ? '–' : formatDollars(dollars));
  const rows = Object.entries(LINES).map(([title, pattern]) => {
    const of = (lines: typeof idle) => sum(lines.filter(({ what }) => pattern.test(what)));
    return [title, shown(of(idle)), shown(of(busy))];
  });
  const totals = [besidesCompute(IDLE), besidesCompute(shortJobs)];
  const compute = formatDollars(sum(busy.filter(({ group }) => group === 'compute')));
  return tableOf(
    ['a month', 'idle', 'a million jobs'],
    [
      ...rows,
      ['**besides compute**', ...totals.map((dollars) => `**${formatDollars(dollars)}**`)],
      ['compute: 100 ms at 512 MB, arm64', '–', compute],
    ],
    1,
  );
}

/** What the README says of money. */
export const costSummary = (): string =>
  [
    `An idle system costs ${formatDollars(besidesCompute(IDLE))} a month, including its alarms. A million short jobs cost ${formatDollars(furtherMillion(shortJobs))} one at a time on Lambda,`,
    `${formatDollars(furtherMillion(shortJobs, { batchSize: 10 }))} in batches of 10, and ${formatDollars(furtherMillion(inProcess))} in a process, excluding compute. The heartbeats of a thousand hours of running jobs cost ${formatDollars(thousandHours())}.`,
    `These are calculations from list prices, without free tiers: [line by line](${'docs/operating/cost.md'}).`,
  ].join(' ');

const thousandHours = () =>
  (((3_600_000 / (resolveSettings().heartbeatMs * MEAN_INTERVAL)) *
    1000 *
    totalUnits(jobUnits(shortJobs).heartbeat)) /
    MILLION) *
  listPrices.perMillionWriteUnits;

/** The same figures where the cost page tells them. */
export const furtherMillions = (): string =>
  `Besides compute, each further million adds ${formatDollars(furtherMillion(shortJobs))} one at a time on Lambda, ${formatDollars(furtherMillion(shortJobs, { batchSize: 10 }))} in batches of 10, and ${formatDollars(furtherMillion(inProcess))} in a process.`;
