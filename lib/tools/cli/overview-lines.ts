import type { QueueCounts } from '../../aws/sqs/queue-inspection.ts';
import type { Overview } from '../../client/overview.ts';
import { formatCount, formatNumber } from '../inspect/counted.ts';
import { formatAge } from '../inspect/format-duration.ts';
import { type Count, WAKE_LATE_MS } from '../inspect/health.ts';
import { type PoolSigns, tellCompute } from '../inspect/intake-health.ts';
import { nameOfGroup } from '../inspect/parked.ts';
import { cutEnd } from './terminal/fit-text.ts';
import type { Colors, Output } from './terminal/output.ts';

const LABEL = 22;
const COUNT = 9;

export function overviewLines(
  overview: Overview,
  now: number,
  { colors, width }: Pick<Output, 'colors' | 'width'>,
): string[] {
  const row = (label: string, value: string, remark = '', paint = String as (text: string) => string) => {
    const fitting = cutEnd(remark, width - LABEL - COUNT - 3);
    return `${colors.dim(label.padEnd(LABEL))} ${value.padStart(COUNT)}  ${paint(fitting)}`.trimEnd();
  };
  const alarming = (count: Count) =>
    count.count > 0 ? colors.red(formatCount(count).padStart(COUNT)) : formatCount(count).padStart(COUNT);
  const failures = Object.entries(overview.failed).filter(([, count]) => count.count > 0);
  return [
    row('running', formatCount(overview.running), soonestEnd(overview, now)),
    row(
      '  lease lapsed',
      alarming(overview.lapsed),
      overview.lapsed.count > 0 ? 'waiting for the reaper' : '',
    ),
    row('pending', formatCount(overview.pending)),
    row('  hint overdue', formatCount(overview.overdue)),
    ...parkedLines(overview, now, row),
    ...(failures.length === 0 ? [row('failed', '0')] : []),
    ...failures.map(([type, count]) => row('failed', alarming(count), type)),
    ...(overview.queue === undefined || overview.pools !== undefined
      ? []
      : [row('queue', ...queueCells(overview.queue))]),
    ...(overview.pools ?? []).map((pool) =>
      pool.queue === undefined
        ? row(`pool ${pool.name}`, '–', 'its queue does not exist', colors.red)
        : row(`pool ${pool.name}`, ...poolCells(pool, pool.queue)),
    ),
    ...(overview.deadLetters === undefined
      ? []
      : [row('dead-letter queue', ...queueCells(overview.deadLetters))]),
    row('reaper', '', ...reaperState(overview, now, colors)),
  ];
}

type Row = (label: string, value: string, remark?: string, paint?: (text: string) => string) => string;

const LISTED_GROUPS = 5;

/** Nothing where nothing is limited or paused. */
function parkedLines({ parked }: Overview, now: number, row: Row): string[] {
  const { all, groups, paused, limits } = parked;
  const named = new Set(groups.slice(0, LISTED_GROUPS).map(nameOfGroup));
  return [
    ...(parked.hasLimits || all.count > 0 ? [row('  parked', formatCount(all))] : []),
    ...groups
      .slice(0, LISTED_GROUPS)
      .map((group) => row('    for', formatCount(group.waiting), `${nameOfGroup(group)}${changeOf(group)}`)),
    ...paused.map(({ type, since, waiting }) =>
      row('    paused', formatCount(waiting), `${type}, ${formatAge(since, now)}`),
    ),
    ...limits
      .filter((changed) => !named.has(nameOfGroup(changed)))
      .map((changed) => row('    limit changed', String(changed.limit), nameOfGroup(changed))),
  ];
}

const changeOf = ({ limit }: { readonly limit?: number }): string =>
  limit === undefined ? '' : `, at most ${limit} at once`;

/** Each part only where there is one: a container deletes messages when it claims, so none is in flight there. */
function poolCells(pool: PoolSigns, { visible, inFlight, delayed }: QueueCounts): [string, string] {
  const parts = [
    `${formatCount(pool.running)} running`,
    ...(inFlight > 0 ? [`${formatNumber(inFlight)} in flight`] : []),
    ...(delayed > 0 ? [`${formatNumber(delayed)} delayed`] : []),
    tellCompute(pool),
  ];
  return [formatNumber(visible), parts.join(', ')];
}

const soonestEnd = ({ soonestLeaseEnd }: Overview, now: number): string =>
  soonestLeaseEnd === undefined
    ? ''
    : `soonest lease ${soonestLeaseEnd > now ? 'ends' : 'ended'} ${formatAge(soonestLeaseEnd, now)}`;

const queueCells = ({ visible, inFlight, delayed }: QueueCounts): [string, string] => [
  formatNumber(visible),
  `${formatNumber(inFlight)} in flight, ${formatNumber(delayed)} delayed (approximate)`,
];

type Painted = [text: string, paint?: (text: string) => string];

function reaperState({ reaper }: Overview, now: number, colors: Colors): Painted {
  if (reaper === undefined) return ['none has run yet', colors.yellow];
  const { holder = 'any reaper', term, wakeAt } = reaper;
  if (wakeAt === undefined) return ['no sweep is scheduled', colors.yellow];
  return wakeAt > now - WAKE_LATE_MS
    ? [`next sweep ${formatAge(Math.max(wakeAt, now), now)}, by ${holder} (term ${term})`]
    : [`a sweep was due ${formatAge(wakeAt, now)}; the next tick or process does it`, colors.yellow];
}
