import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Backoff } from '../protocol/decisions/backoff.ts';
import { declarations, lowest, MAX_LEASE_MS, type Settings } from '../settings/settings.ts';
import { LeaseholdError } from '../wire/leasehold-error.ts';
import { type JsonValue, quoted } from '../wire/message.ts';
import { didYouMean } from '../wire/nearest.ts';
import type { JobDefinition, JobOptions } from './define-job.ts';
import { definitionProblems } from './definition-problems.ts';

/** Marks a registry, also one that another copy of this package made. */
const REGISTRY: unique symbol = Symbol.for('leasehold.registry') as never;

/** Every type of job that a worker can run. */
export interface Registry<Definitions extends readonly JobDefinition[] = readonly JobDefinition[]> {
  readonly [REGISTRY]: true;
  readonly definitions: Definitions;
  find(type: string): JobDefinition | undefined;
  readonly flush?: RegistryOptions['flush'];
}

export interface RegistryOptions {
  /** Sends out what a tracing layer has gathered. Called on Lambda before an invocation ends, when a freeze may follow. */
  readonly flush?: () => Promise<void>;
}

/** The types of a registry, for producers. */
export type TypeIn<R extends Registry> = R['definitions'][number]['type'];

/** What a producer sends for a type: anything, if it does not know the registry. */
export type PayloadIn<R extends Registry, Type extends TypeIn<R>> =
  string extends TypeIn<R>
    ? unknown
    : StandardSchemaV1.InferInput<Extract<R['definitions'][number], { readonly type: Type }>['payload']>;

/** What `waitFor` gives for a type: what its handler returns, or any JSON, if the registry is not known. */
export type ResultIn<R extends Registry, Type extends TypeIn<R>> =
  string extends TypeIn<R>
    ? JsonValue | undefined
    : Stored<Awaited<ReturnType<Extract<R['definitions'][number], { readonly type: Type }>['run']>>>;

/** A handler that returns nothing leaves no result. */
type Stored<Result> = Result extends JsonValue ? Result : undefined;

/** The registry has types that contradict each other or the settings. */
export class RegistryError extends LeaseholdError {
  static override readonly name: string = 'RegistryError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('REGISTRY', problems.join('\n'));
    this.problems = problems;
  }
}

/** A row's type is not in the registry: an older worker met a newer job, or the type was removed. */
export class UnknownTypeError extends LeaseholdError {
  static override readonly name: string = 'UnknownTypeError';
  constructor(type: string, known: readonly string[]) {
    super(
      'UNKNOWN_TYPE',
      `no handler for type '${type}'.${didYouMean(type, known)} Known: ${known.join(', ') || 'none'}; deploy a worker that has it`,
    );
  }
}

/** Gathers the types that a worker runs: one line for each. */
export function createRegistry<const Definitions extends readonly JobDefinition[]>(
  definitions: Definitions,
  { flush }: RegistryOptions = {},
): Registry<Definitions> {
  const byType = new Map<string, JobDefinition>();
  const problems: string[] = [];
  for (const definition of definitions) {
    problems.push(...definitionProblems(definition));
    if (byType.has(definition.type))
      problems.push(`type '${definition.type}' is defined twice; rename or remove one`);
    byType.set(definition.type, definition);
  }
  if (problems.length > 0) throw new RegistryError(problems);
  return { [REGISTRY]: true, definitions, find: (type) => byType.get(type), flush };
}

export const isRegistry = (value: unknown): value is Registry =>
  typeof value === 'object' && value !== null && (value as Partial<Registry>)[REGISTRY] === true;

/** How one type's jobs are treated: its own options, and the settings for what it leaves open. */
export interface TypeTerms {
  readonly leaseMs: number;
  readonly fixedLease: boolean;
  readonly maxAttempts: number;
  readonly maxCrashes: number;
  readonly backoff: Backoff;
  readonly maxRunMs: number;
  readonly progressTimeoutMs: number;
  readonly maxStallMs: number;
}

export function termsOf(definition: JobOptions | undefined, settings: Settings): TypeTerms {
  const maxAttempts = definition?.maxAttempts ?? settings.maxAttempts;
  return {
    leaseMs: definition?.lease?.ms ?? settings.leaseMs,
    fixedLease: definition?.lease?.fixed ?? false,
    maxAttempts,
    maxCrashes: definition?.maxCrashes ?? Math.min(settings.maxCrashes, maxAttempts),
    backoff: definition?.backoff ?? { baseMs: settings.backoffBaseMs, capMs: settings.backoffCapMs },
    maxRunMs: definition?.maxRunMs ?? settings.maxRunMs,
    progressTimeoutMs: definition?.progressTimeoutMs ?? settings.progressTimeoutMs,
    maxStallMs: definition?.maxStallMs ?? settings.maxStallMs,
  };
}

type NamedOptions = JobOptions & { readonly type: string };

/** Refuses types whose options are out of the limits that the settings set, naming every problem at once. */
export function checkTypes(types: readonly NamedOptions[], settings: Settings): void {
  const problems = types.flatMap((each) => problemsOf(each, settings));
  if (problems.length > 0) throw new RegistryError(problems);
}

function problemsOf(definition: NamedOptions, settings: Settings): string[] {
  const terms = termsOf(definition, settings);
  const limit = (name: 'maxRunMs' | 'progressTimeoutMs' | 'maxStallMs' | 'maxAttempts' | 'maxCrashes') =>
    [lowest(declarations[name], settings.timeScale), declarations[name].max] as const;
  const checks: readonly (readonly [string, number, readonly [number, number]])[] = [
    ['lease.ms', terms.leaseMs, [settings.minLeaseMs, MAX_LEASE_MS]],
    ['maxAttempts', terms.maxAttempts, limit('maxAttempts')],
    ['maxCrashes', terms.maxCrashes, [1, terms.maxAttempts]],
    ['backoff.baseMs', terms.backoff.baseMs, [0, terms.backoff.capMs]],
    ['backoff.capMs', terms.backoff.capMs, [0, declarations.backoffCapMs.max]],
    ['maxRunMs', terms.maxRunMs, limit('maxRunMs')],
    ['progressTimeoutMs', terms.progressTimeoutMs, limit('progressTimeoutMs')],
    ['maxStallMs', terms.maxStallMs, limit('maxStallMs')],
  ];
  return checks
    .filter(([, value, [min, max]]) => !(Number.isSafeInteger(value) && value >= min && value <= max))
    .map(
      ([name, value, [min, max]]) =>
        `type '${definition.type}': ${name} is ${quoted(value)}; it must be a whole number from ${min} to ${max}`,
    );
}
