import { formatCount, formatNumber } from './counted.ts';
import { formatAge, formatDuration } from './format-duration.ts';
import { type Count, type Health, type HealthSigns, WAKE_LATE_MS } from './health.ts';
import type { HealthCode } from './health-reason.ts';
import { tellParked } from './parked.ts';

export interface HealthItem {
  readonly name: 'waiting' | 'running' | 'parked' | 'workers' | 'sweep' | 'failed' | 'lost' | 'throttled';
  readonly label: string;
  readonly value: string;
  readonly remark?: string;
  readonly tone: 'plain' | 'warn' | 'bad' | 'unknown';
}

const codesOf: Readonly<Record<HealthItem['name'], readonly HealthCode[]>> = {
  waiting: ['untaken', 'saturated', 'deadLetters', 'poolAbsent'],
  parked: ['typePaused'],
  running: ['leasesOverdue'],
  workers: ['paused', 'concurrency'],
  sweep: ['reaperOff', 'reaperAbsent', 'reaperSilent', 'reaperLate', 'hintsOverdue'],
  failed: ['failureRate'],
  lost: ['lostWorkers'],
  throttled: ['throttled'],
};

const NO_METRICS = 'no metrics';

export function healthStrip(signs: HealthSigns, health: Health): HealthItem[] {
  const toneOf = (name: HealthItem['name'], value: string): HealthItem['tone'] => {
    const reasons = health.reasons.filter(({ code }) => codesOf[name].includes(code));
    if (reasons.some(({ state }) => state === 'down')) return 'bad';
    if (reasons.length > 0) return 'warn';
    return value === '–' ? 'unknown' : 'plain';
  };
  return [
    waiting(signs),
    ...parkedItem(signs),
    running(signs),
    workers(signs),
    sweep(signs),
    ...lastHour(signs),
  ].map((item) => ({
    ...item,
    tone: toneOf(item.name, item.value),
  }));
}

type Untoned = Omit<HealthItem, 'tone'>;

function waiting({ queue, oldestMessageMs, pending, pools }: HealthSigns): Untoned {
  const item = { name: 'waiting', label: 'waiting' } as const;
  if (queue === undefined) {
    const remark = 'the queue is not known: name it with --queue-url';
    return { ...item, value: pending === undefined ? '–' : formatCount(pending), remark };
  }
  if (pools !== undefined) {
    const visible = pools.reduce((sum, pool) => sum + (pool.queue?.visible ?? 0), 0);
    const busy = pools.filter((pool) => (pool.queue?.visible ?? 0) > 0);
    const remark = busy.map((pool) => `${pool.name} ${pool.queue?.visible.toLocaleString('en-US')}`);
    return { ...item, value: formatNumber(visible), remark: remark.join(', ') || undefined };
  }
  const parts = [
    ...(oldestMessageMs === undefined || queue.visible === 0
      ? []
      : [`oldest ${formatDuration(oldestMessageMs)}`]),
    ...(queue.delayed > 0 ? [`${formatNumber(queue.delayed)} delayed`] : []),
  ];
  return { ...item, value: formatNumber(queue.visible), remark: parts.join(', ') || undefined };
}

function parkedItem({ parked }: HealthSigns): Untoned[] {
  if (parked === undefined) return [];
  const { all, paused, limits, hasLimits } = parked;
  if (!hasLimits && all.count + paused.length + limits.length === 0) return [];
  return [
    { name: 'parked', label: 'parked', value: formatCount(all), remark: tellParked(parked) || undefined },
  ];
}

function running({ running: count, soonestLeaseEnd, at }: HealthSigns): Untoned {
  const lapsed = soonestLeaseEnd !== undefined && soonestLeaseEnd < at;
  return {
    name: 'running',
    label: 'running',
    value: count === undefined ? '–' : formatCount(count),
    remark: lapsed ? `a lease ended ${formatAge(soonestLeaseEnd, at)}` : undefined,
  };
}

function workers({ workers: seen }: HealthSigns): Untoned {
  const item = { name: 'workers', label: 'workers busy' } as const;
  if (seen === undefined) return { ...item, value: '–', remark: 'not looked at' };
  if (seen.all === undefined)
    return { ...item, value: formatNumber(seen.busy), remark: 'idle ones are not seen' };
  return { ...item, value: `${formatNumber(seen.busy)} of ${formatNumber(seen.all)}` };
}

function sweep({ reaper, at }: HealthSigns): Untoned {
  const item = { name: 'sweep', label: 'last sweep' } as const;
  if (reaper === undefined) return { ...item, value: 'none yet' };
  const { ledAt, wakeAt } = reaper;
  const lateMs = wakeAt === undefined ? 0 : at - wakeAt;
  return {
    ...item,
    value: ledAt === undefined ? '–' : formatAge(Math.min(ledAt, at), at),
    remark: lateMs > WAKE_LATE_MS ? `next is ${formatDuration(lateMs)} late` : 'on time',
  };
}

function lastHour({ lastHour: hour, failed }: HealthSigns): Untoned[] {
  const stored = Object.values(failed ?? {});
  const all: Count = {
    count: stored.reduce((sum, { count }) => sum + count, 0),
    complete: stored.every(({ complete }) => complete),
  };
  const value = (count: number | undefined) => (count === undefined ? '–' : formatNumber(count));
  const hasLost = hour?.crashed !== undefined || hour?.reclaimed !== undefined;
  const delay =
    hour?.reclaimDelayMs === undefined
      ? ''
      : `, up to ${formatDuration(hour.reclaimDelayMs)} after the lease`;
  return [
    {
      name: 'failed',
      label: 'failed',
      value: value(hour?.failed),
      remark: [
        ...(hour?.failed === undefined ? [] : ['last hour']),
        ...(failed === undefined ? [] : [`${formatCount(all)} kept`]),
      ].join(', '),
    },
    {
      name: 'lost',
      label: 'crashed, reclaimed',
      value: hasLost ? `${value(hour?.crashed)}, ${value(hour?.reclaimed)}` : '–',
      remark: hasLost ? `last hour${delay}` : NO_METRICS,
    },
    {
      name: 'throttled',
      label: 'throttled',
      value: value(hour?.throttled),
      remark: hour?.throttled === undefined ? NO_METRICS : 'last hour',
    },
  ];
}
