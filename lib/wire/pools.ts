import { isJobType, quoted } from './message.ts';

/** The default pool runs all types that no pool lists. */
interface Pool {
  readonly queueUrl: string;
  readonly types: readonly string[];
  /** The reaper publishes how many containers the pool needs, at most `max`. */
  readonly tasks?: { readonly max: number; readonly concurrency: number };
}

/** By name, without the default pool. */
export type Pools = Readonly<Record<string, Pool>>;

/** A worker's pool, and the queues of other types. */
export interface Routing {
  readonly pool: string;
  readonly pools: Pools;
}

export const DEFAULT_POOL = 'default';
/** Half of what Lambda allows for all variables of a function. */
const MAX_POOLS_BYTES = 2048;
const NAME = /^[a-z][a-z0-9-]{0,29}$/;

export const poolOf = (pools: Pools, type: string): string =>
  Object.keys(pools).find((name) => pools[name]?.types.includes(type)) ?? DEFAULT_POOL;

/** Chosen when a message is sent, because rows store no pool. */
export const queueUrlFor = (defaultQueueUrl: string, pools: Pools, type: string | undefined): string =>
  (type === undefined ? undefined : pools[poolOf(pools, type)]?.queueUrl) ?? defaultQueueUrl;

export const ownQueueUrl = (defaultQueueUrl: string, { pool, pools }: Routing): string =>
  pools[pool]?.queueUrl ?? defaultQueueUrl;

export const poolsText = (pools: Pools): string => JSON.stringify(pools);

/** The text of `poolsText`, which may be written by hand. */
export function parsePools(text: string): { readonly pools: Pools; readonly problems: readonly string[] } {
  let pools: unknown;
  try {
    pools = JSON.parse(text);
  } catch {
    pools = undefined;
  }
  if (typeof pools !== 'object' || pools === null || !Object.values(pools).every(isPool))
    return {
      pools: {},
      problems: [
        `the pools are ${quoted(text)}; they must be JSON such as {"render":{"queueUrl":"https://…","types":["render"]}}, as the stack writes them`,
      ],
    };
  return { pools: pools as Pools, problems: poolProblems(pools as Pools) };
}

const isPool = (pool: unknown): pool is Pool =>
  typeof pool === 'object' &&
  pool !== null &&
  typeof (pool as Pool).queueUrl === 'string' &&
  Array.isArray((pool as Pool).types);

/** A type must have exactly one queue. */
export function poolProblems(pools: Pools): string[] {
  const problems: string[] = [];
  const poolsOf = new Map<string, string>();
  for (const [name, { types }] of Object.entries(pools)) {
    if (name === DEFAULT_POOL)
      problems.push(`pool '${DEFAULT_POOL}' cannot be declared: it runs every type that no pool names`);
    else if (!NAME.test(name))
      problems.push(
        `pool ${quoted(name)} has a bad name; it must be 1 to 30 characters of a-z 0-9 -, beginning with a letter`,
      );
    if (types.length === 0)
      problems.push(`pool '${name}' has no types; name those that it runs, or remove it`);
    for (const type of types) {
      const other = poolsOf.get(type);
      if (!isJobType(type))
        problems.push(
          `pool '${name}' has the type ${quoted(type)}; a type is 1 to 100 characters of A-Z a-z 0-9 . _ -`,
        );
      else if (other !== undefined)
        problems.push(
          `type '${type}' is in the pools '${other}' and '${name}'; a type has one pool. Remove it from one of them`,
        );
      else poolsOf.set(type, name);
    }
  }
  const bytes = Buffer.byteLength(poolsText(pools));
  if (bytes > MAX_POOLS_BYTES)
    problems.push(
      `the pools take ${bytes} bytes in the variables of every function; at most ${MAX_POOLS_BYTES} are allowed. Use fewer pools or types, or shorter names`,
    );
  return problems;
}
