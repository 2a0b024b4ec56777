import type { Pools } from './pools.ts';

const LONGEST = 64;
/** AWS limit. */
const LONGEST_VALUE = 256;
const POOL = 'leasehold:pool:';
const TASKS = 'leasehold:tasks:';
const TYPES = 'leasehold:types:';

/** The deployment's service name, within the limits of a group name. */
export const scheduleGroupOf = (serviceName: string): string =>
  serviceName.replace(/[^0-9A-Za-z_.-]/g, '-').slice(-LONGEST);

/** Lets the command line find the rest of a deployment. */
export const deploymentTags = {
  tableName: 'leasehold:table',
  queueUrl: 'leasehold:queue',
  eventBusName: 'leasehold:event-bus',
} as const;

export type Deployment = Readonly<Record<keyof typeof deploymentTags, string | undefined>> & {
  readonly pools?: Pools;
};

type Tags = Readonly<Record<string, string>>;

/** Values of at most 256 characters. Within the 50 tags of a resource, because the pools also fit in a variable. */
export const tagsOfPools = (pools: Pools): Tags =>
  Object.fromEntries(
    Object.entries(pools).flatMap(([name, { queueUrl, types, tasks }]) => [
      [POOL + name, queueUrl],
      ...(tasks === undefined ? [] : [[TASKS + name, `${tasks.max}/${tasks.concurrency}`]]),
      ...inChunks(types).map((chunk, i) => [`${TYPES}${name}:${i}`, chunk]),
    ]),
  );

function inChunks(types: readonly string[]): string[] {
  const chunks: string[] = [];
  for (const type of types) {
    const last = chunks.at(-1);
    if (last !== undefined && last.length + 1 + type.length <= LONGEST_VALUE)
      chunks[chunks.length - 1] = `${last} ${type}`;
    else chunks.push(type);
  }
  return chunks;
}

export function poolsInTags(tags: Tags): Pools | undefined {
  const pools = Object.keys(tags).flatMap((key) => {
    if (!key.startsWith(POOL)) return [];
    const name = key.slice(POOL.length);
    const [max, concurrency] = (tags[TASKS + name] ?? '').split('/').map(Number);
    const types = Object.entries(tags)
      .filter(([each]) => each.startsWith(`${TYPES}${name}:`))
      .flatMap(([, value]) => value.split(' '));
    const tasks = max && concurrency ? { tasks: { max, concurrency } } : {};
    return [[name, { queueUrl: tags[key] ?? '', types, ...tasks }] as const];
  });
  return pools.length === 0 ? undefined : Object.fromEntries(pools);
}
