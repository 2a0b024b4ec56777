import { type Control, limitOf } from '../../protocol/limits/control.ts';
import { isPauseGroup, partsOfGroup } from '../../wire/limits.ts';
import { counted, formatCount } from './counted.ts';
import type { Count } from './health.ts';

interface ParkedGroup {
  readonly type: string;
  readonly key?: string;
  readonly waiting: Count;
  /** Undefined until a worker has declared the type. */
  readonly limit?: number;
}

export interface Parked {
  readonly all: Count;
  readonly groups: readonly ParkedGroup[];
  readonly paused: readonly { readonly type: string; readonly since: number; readonly waiting: Count }[];
  /** Limits that differ from the definitions. */
  readonly limits: readonly { readonly type: string; readonly key?: string; readonly limit: number }[];
  readonly hasLimits: boolean;
}

const MOST_GROUPS = 20;

/** `waits` are what pending jobs wait for; not `complete` if only some jobs were read. */
export function parkedOf(waits: readonly string[], complete: boolean, control: Control): Parked {
  const counts = new Map<string, number>();
  const pausedCounts = new Map<string, number>();
  for (const group of waits) {
    const of = isPauseGroup(group) ? pausedCounts : counts;
    const name = isPauseGroup(group) ? partsOfGroup(group).type : group;
    of.set(name, (of.get(name) ?? 0) + 1);
  }
  return {
    all: { count: waits.length, complete },
    groups: [...counts]
      .sort(([a, ofA], [b, ofB]) => ofB - ofA || (a < b ? -1 : 1))
      .slice(0, MOST_GROUPS)
      .map(([name, count]) => {
        const { type, key } = partsOfGroup(name);
        return { type, key, waiting: { count, complete }, limit: limitOf(control, type, key) };
      }),
    paused: [...control.paused].map(([type, since]) => ({
      type,
      since,
      waiting: { count: pausedCounts.get(type) ?? 0, complete },
    })),
    limits: [...control.limits].map(([name, limit]) => {
      const [type = '', key] = name.split(':');
      return { type, key, limit };
    }),
    hasLimits: [...control.types.values()].some((limit) => limit !== undefined),
  };
}

/** `tenant-7 of sync`, or the type alone. */
export const nameOfGroup = ({ type, key }: { readonly type: string; readonly key?: string }): string =>
  key === undefined ? type : `${key} of ${type}`;

export interface Wait {
  readonly pool?: { readonly name: string; readonly queueUrl: string };
  readonly pausedAt?: number;
  readonly place?: {
    readonly group: string;
    readonly taken: number;
    readonly limit?: number;
    readonly ahead: Count;
  };
}

/** `waits for 2 of 2 of tenant-7; 14 ahead`. */
export function tellPlace({ group, taken, limit, ahead }: NonNullable<Wait['place']>): string {
  const { type, key } = partsOfGroup(group);
  const places = limit === undefined ? String(taken) : `${taken} of ${limit}`;
  const before = ahead.count === 0 ? 'it is next' : `${formatCount(ahead)} ahead`;
  return `waits for ${places} of ${key ?? type}; ${before}`;
}

export const tellPool = ({ name, queueUrl }: NonNullable<Wait['pool']>): string =>
  `pool '${name}', queue ${queueUrl.split('/').at(-1)}`;

export const tellParked = (parked: Parked): string =>
  [
    ...parked.paused.map(({ type }) => `${type} paused`).slice(0, 2),
    ...(parked.paused.length > 2 ? [`${counted(parked.paused.length - 2, 'more type')} paused`] : []),
    ...(parked.limits.length > 0 ? [`${counted(parked.limits.length, 'limit')} changed`] : []),
  ].join(', ');
