import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Settings } from '../settings/settings.ts';
import { LeaseholdError } from '../wire/leasehold-error.ts';
import { type JsonValue, quoted } from '../wire/message.ts';
import { didYouMean } from '../wire/nearest.ts';
import type { HandlerJob, JobDefinition, JobOptions } from './define-job.ts';
import { definitionProblems, numberProblems } from './definition-problems.ts';

/** Shared by all copies of this package. */
const REGISTRY: unique symbol = Symbol.for('leasehold.registry') as never;

/** The job types that a worker can run. */
export interface Registry<Definitions extends readonly JobDefinition[] = readonly JobDefinition[]> {
  readonly [REGISTRY]: true;
  readonly definitions: Definitions;
  find(type: string): JobDefinition | undefined;
  readonly flush?: RegistryOptions['flush'];
}

/** What happens around the runs of all types. */
export interface RegistryOptions {
  /** Flushes a tracing layer before a worker process stops and before each Lambda invocation ends, because a freeze may follow. */
  readonly flush?: () => Promise<void>;
  /** Wraps each handler run, for tracing, metrics or context. Must call `run` once and return its result. @default - not wrapped */
  readonly around?: (job: HandlerJob, run: () => Promise<unknown>) => Promise<unknown>;
}

/** The type names in a registry. */
export type TypeIn<R extends Registry> = R['definitions'][number]['type'];

/** The payload of a type; `unknown` without a typed registry. */
export type PayloadIn<R extends Registry, Type extends TypeIn<R>> =
  string extends TypeIn<R>
    ? unknown
    : StandardSchemaV1.InferInput<
        NonNullable<Extract<R['definitions'][number], { readonly type: Type }>['payload']>
      >;

/** The result that `waitFor` resolves to; any JSON without a typed registry. */
export type ResultIn<R extends Registry, Type extends TypeIn<R>> =
  string extends TypeIn<R>
    ? JsonValue | undefined
    : Stored<Awaited<ReturnType<Extract<R['definitions'][number], { readonly type: Type }>['run']>>>;

type Stored<Result> = Result extends void ? undefined : Result;

/** Job types contradict each other or the settings. */
export class RegistryError extends LeaseholdError {
  static override readonly name: string = 'RegistryError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('REGISTRY', problems.join('\n'));
    this.problems = problems;
  }
}

/** A row's type is not in the registry: the job is newer than the worker, or the type was removed. */
export class UnknownTypeError extends LeaseholdError {
  static override readonly name: string = 'UnknownTypeError';
  constructor(type: string, known: readonly string[]) {
    super(
      'UNKNOWN_TYPE',
      `no handler for type '${type}'.${didYouMean(type, known)} Known: ${known.join(', ') || 'none'}; deploy a worker that has it`,
    );
  }
}

/** Collects the job types that a worker runs. */
export function createRegistry<const Definitions extends readonly JobDefinition[]>(
  definitions: Definitions,
  { flush, around }: RegistryOptions = {},
): Registry<Definitions> {
  const byType = new Map<string, JobDefinition>();
  const problems: string[] = [];
  for (const definition of definitions) {
    problems.push(...definitionProblems(definition));
    if (byType.has(definition.type))
      problems.push(`type '${definition.type}' is defined twice; rename or remove one`);
    byType.set(definition.type, surrounded(definition, around));
  }
  if (around !== undefined && typeof around !== 'function')
    problems.push(
      `'around' is ${quoted(around)}; it must be a function such as (job, run) => run(). Give one, or leave it out`,
    );
  if (problems.length > 0) throw new RegistryError(problems);
  return { [REGISTRY]: true, definitions, find: (type) => byType.get(type), flush };
}

const surrounded = (definition: JobDefinition, around: RegistryOptions['around']): JobDefinition =>
  around === undefined
    ? definition
    : { ...definition, run: (job, context) => around(job, async () => definition.run(job, context)) };

export const isRegistry = (value: unknown): value is Registry =>
  typeof value === 'object' && value !== null && (value as Partial<Registry>)[REGISTRY] === true;

export type TypeTerms = ReturnType<typeof termsOf>;

export function termsOf(definition: JobOptions | undefined, settings: Settings) {
  const maxAttempts = definition?.maxAttempts ?? settings.maxAttempts;
  return {
    leaseMs: definition?.lease?.ms ?? settings.leaseMs,
    fixedLease: definition?.lease?.fixed ?? false,
    maxAttempts,
    maxCrashes: definition?.maxCrashes ?? Math.min(settings.maxCrashes, maxAttempts),
    // A function runs in the cell, next to the handler.
    backoff: (typeof definition?.backoff === 'function' ? undefined : definition?.backoff) ?? {
      baseMs: settings.backoffBaseMs,
      capMs: settings.backoffCapMs,
    },
    maxRunMs: definition?.maxRunMs ?? settings.maxRunMs,
    progressTimeoutMs: definition?.progressTimeoutMs ?? settings.progressTimeoutMs,
    maxStallMs: definition?.maxStallMs ?? settings.maxStallMs,
  };
}

type NamedOptions = JobOptions & { readonly type: string };

/** Problems that only the settings reveal, such as a lease shorter than `minLeaseMs`. */
export function checkTypes(types: readonly NamedOptions[], settings: Settings): void {
  const problems = types.flatMap((options) =>
    numberProblems(options, settings).map((problem) => `type '${options.type}': ${problem}`),
  );
  if (problems.length > 0) throw new RegistryError(problems);
}
