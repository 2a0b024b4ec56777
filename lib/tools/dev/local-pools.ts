import { didYouMean } from '../../wire/nearest.ts';
import { type Pools, poolProblems } from '../../wire/pools.ts';

const kinds = ['lambda', 'fargate'] as const;
type LocalCompute = (typeof kinds)[number];

/** Some job types and the kind of compute that runs them here: the bundled function, or a `leasehold work` process. */
export interface LocalPool {
  readonly types: readonly string[];
  readonly compute: LocalCompute;
}

/** By name, without the default pool. */
export type LocalPools = Readonly<Record<string, LocalPool>>;

export function parseLocalPool(text: string): readonly [name: string, pool: LocalPool] | undefined {
  const [, name = '', kind = '', types = ''] = /^([^=:]+)=([^=:]+):([^=:]*)$/.exec(text) ?? [];
  const compute = kinds.find((each) => each === kind);
  if (compute === undefined) return undefined;
  return [name, { compute, types: types.split(',').filter((type) => type !== '') }];
}

export const routesOf = (pools: LocalPools, urlOf: (pool: string) => string): Pools =>
  Object.fromEntries(
    Object.entries(pools).map(([name, { types }]) => [name, { queueUrl: urlOf(name), types }]),
  );

export function localPoolProblems(pools: LocalPools, jobs: string | undefined): string[] {
  const names = Object.keys(pools);
  return [
    ...(names.length > 0 && jobs === undefined
      ? [`the pools ${names.join(', ')} need your jobs module; name it, as in: leasehold dev src/jobs.ts`]
      : []),
    ...names
      .filter((name) => !kinds.some((kind) => kind === pools[name]?.compute))
      .map(
        (name) =>
          `the compute of pool '${name}' is '${pools[name]?.compute}'; it must be ${kinds.join(' or ')}`,
      ),
    ...poolProblems(routesOf(pools, () => '')),
  ];
}

/** A pool of a misspelled type would stay idle, and the type would run in the default pool. */
export const unknownTypeProblems = (pools: LocalPools, types: readonly string[]): string[] =>
  Object.entries(pools).flatMap(([name, pool]) =>
    pool.types
      .filter((type) => !types.includes(type))
      .map(
        (type) =>
          `pool '${name}' has the type '${type}', and the jobs module has no such type.${didYouMean(type, types)} It has: ${types.join(', ')}`,
      ),
  );
