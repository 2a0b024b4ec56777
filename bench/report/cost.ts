import { SECONDS_A_MONTH } from '../../lib/cost/bill.ts';
import { MEAN_INTERVAL } from '../../lib/cost/plan.ts';
import { listPrices } from '../../lib/cost/prices.ts';
import { alternativePrices } from './alternative-prices.ts';
import { figure, table } from './markdown.ts';
import type { Results } from './results.ts';

/** The sections of docs/cost.md: prices times what was counted. */
export function costSections(results: Results): Record<string, string> {
  const units = countedUnits(results);
  if (units === undefined) return {};
  return { short: shortJobs(units), hours: jobHours(results), breakeven: breakEven(units) };
}

interface CountedUnits {
  readonly claim: number;
  readonly complete: number;
}

/** Write units by the engine's own account, table and index together. */
function countedUnits({ wireCost }: Results): CountedUnits | undefined {
  const of = (start: string) => {
    const found = wireCost?.find(({ transition }) => transition.startsWith(start));
    return found === undefined ? undefined : found.tableUnits + found.indexUnits;
  };
  const [claim, complete] = [of('claim of a new job'), of('complete')];
  return claim === undefined || complete === undefined ? undefined : { claim, complete };
}

const dollars = (value: number): string => `$${value < 0.01 ? value.toFixed(4) : value.toFixed(2)}`;

/** The example: a handler of 100 ms with 512 MB, a payload below 1 KB. */
const HANDLER_GB_SECONDS = 0.1 * 0.5;
const MILLION = 1e6;

function leaseholdShort(units: CountedUnits, batch: number, host: 'lambda' | 'process') {
  const writes = (units.claim + units.complete) * listPrices.perMillionWriteUnits;
  // One send a job unless the producer batches; receive and delete are shared by a batch.
  const queue = (1 + 2 / batch) * listPrices.perMillionQueueRequests;
  const lambda =
    host === 'process'
      ? 0
      : listPrices.perMillionInvocations / batch + HANDLER_GB_SECONDS * MILLION * listPrices.perGbSecond;
  return { writes, queue, lambda, total: writes + queue + lambda };
}

function shortJobs(units: CountedUnits): string {
  const handler = HANDLER_GB_SECONDS * MILLION * listPrices.perGbSecond;
  const invoked = listPrices.perMillionInvocations + handler;
  const row = (what: string, coordination: number, compute: number | undefined, how: string) => [
    what,
    dollars(coordination),
    compute === undefined ? 'your own' : dollars(compute),
    how,
  ];
  const ours = (title: string, batch: number, host: 'lambda' | 'process') => {
    const { writes, queue, lambda } = leaseholdShort(units, batch, host);
    return row(
      title,
      writes + queue,
      host === 'lambda' ? lambda : undefined,
      `${figure(units.claim)} + ${figure(units.complete)} write units, ${figure(1 + 2 / batch)} queue requests`,
    );
  };
  const p = alternativePrices;
  return table(
    ['system', 'coordination', 'compute', 'what is counted'],
    [
      ours('Leasehold on Lambda, one job an invocation', 1, 'lambda'),
      ours('Leasehold on Lambda, batches of 10', 10, 'lambda'),
      ours('Leasehold in a process', 10, 'process'),
      row('Step Functions, standard', p.perMillionStateTransitions, invoked, '1 state transition, no retry'),
      row(
        'Step Functions, express',
        p.perMillionExpressRequests + 0.0625 * 0.1 * MILLION * p.perExpressGbSecond,
        invoked,
        '1 request, 64 MB for 100 ms; 5 minutes at most, nothing kept',
      ),
      row(
        'Lambda durable functions',
        2 * p.perMillionDurableOperations,
        invoked,
        '2 operations: start and one step',
      ),
    ],
  );
}

function jobHours({ heartbeatPrice }: Results): string {
  const schemes = heartbeatPrice?.[0]?.schemes ?? [];
  const rows = schemes.map((scheme) => [
    `Leasehold, ${scheme.scheme}`,
    // Counted without the jitter, by which beats come early.
    ...scheme.hours.map(({ unitsPerHour }) =>
      dollars(((unitsPerHour / MEAN_INTERVAL) * 1000 * listPrices.perMillionWriteUnits) / MILLION),
    ),
  ]);
  const hours = schemes[0]?.hours.map(({ hours: length }) => length) ?? [];
  const each = (perJob: number) => hours.map((length) => dollars((perJob * 1000) / length));
  return table(
    ['system', ...hours.map((length) => `jobs of ${length} h`)],
    [
      ...rows,
      [
        'Step Functions, standard, by callback',
        ...each(alternativePrices.perMillionStateTransitions / MILLION),
      ],
      [
        'Lambda durable functions, a step every 10 minutes',
        ...hours.map((length) =>
          dollars(
            ((1 + length * 6) * 1000 * alternativePrices.perMillionDurableOperations) / MILLION / length,
          ),
        ),
      ],
    ],
  );
}

/** How many short jobs a month cost as much as an instance that runs all the time. */
function breakEven(units: CountedUnits): string {
  const { writes, queue } = leaseholdShort(units, 10, 'process');
  const hours = SECONDS_A_MONTH / 3600;
  const row = (what: string, perHour: number) => {
    const monthly = perHour * hours;
    return [what, dollars(monthly), `${figure(monthly / (writes + queue))} million`];
  };
  return table(
    ['store', 'a month, idle or busy', 'jobs a month at which Leasehold costs as much'],
    [
      row('Redis (ElastiCache, 2 × cache.t4g.small)', alternativePrices.perRedisHour),
      row('PostgreSQL (RDS, db.t4g.small, two zones)', alternativePrices.perPostgresHour),
    ],
  );
}
