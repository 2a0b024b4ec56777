import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Telemetry } from '../protocol/ports.ts';
import type { JsonValue } from '../wire/message.ts';
import type { TraceContext } from '../wire/trace.ts';
import { definitionProblems } from './definition-problems.ts';
import { RegistryError } from './registry.ts';

/** Any schema library that follows Standard Schema: zod, valibot, arktype and others. */
export type Schema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output>;

type Out<S extends Schema> = StandardSchemaV1.InferOutput<S>;

/** What a handler is told of its job. */
export interface HandlerJob<Payload = unknown, Checkpoint = unknown> {
  readonly jobId: string;
  readonly type: string;
  /** As the schema returned it. */
  readonly payload: Payload;
  /** Number of this claim: 1 for the first run. */
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
  readonly createdAt: number;
  /** What the last run stored, undefined before the first checkpoint. */
  readonly checkpoint: Checkpoint | undefined;
  /** Give this to services that recognise repeated requests: it is the same in every attempt. */
  readonly idempotencyKey: string;
  /** Give this to stores that can refuse an older number: it rises with every attempt. */
  readonly fencingToken: number;
}

/** What a handler may do besides its work. */
export interface JobContext<Checkpoint = JsonValue> {
  /** Fires with a reason from abort-reasons: stop, and throw. */
  readonly signal: AbortSignal;
  /** Where the job comes from: its producer's trace, to go on with. Jobs that this handler sends carry it on by themselves. */
  readonly trace: TraceContext;
  /** Stores the place from which another run can go on. Resolves when it is stored; throws when the lease is gone. */
  save(place: Checkpoint): Promise<void>;
  /** Tells how far the job is. Costs no write of its own more often than the lease is renewed. */
  progress(value: JsonValue): void;
  /** Writes log lines that name the job and its attempt. */
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
}

/** The lease of a type: kept alive by heartbeats, or fixed for work of a known and short length. */
interface LeaseOptions {
  readonly ms: number;
  /** @default - false: a heart renews the lease for as long as the handler makes headway */
  readonly fixed?: boolean;
}

/** How jobs of a type are leased, retried and limited. What is left out comes from the settings. */
export interface JobOptions {
  /** @default - the setting `leaseMs`, renewed by heartbeats */
  readonly lease?: LeaseOptions;
  /** Errors and crashes together after which the job fails for good. @default - the setting `maxAttempts` */
  readonly maxAttempts?: number;
  /** Crashes after which the job is quarantined. @default - the setting `maxCrashes` */
  readonly maxCrashes?: number;
  /** Waits between retries, with full jitter. @default - the settings `backoffBaseMs` and `backoffCapMs` */
  readonly backoff?: { readonly baseMs: number; readonly capMs: number };
  /** Age of one attempt at which it is aborted and its heart stops. @default - the setting `maxRunMs` */
  readonly maxRunMs?: number;
  /** Longest silence between progress reports; 0 expects none. @default - the setting `progressTimeoutMs` */
  readonly progressTimeoutMs?: number;
  /** How long the handler may block the event loop. @default - the setting `maxStallMs` */
  readonly maxStallMs?: number;
}

/** What a handler may return: JSON, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void
type HandlerResult = JsonValue | undefined | void;

/** One type of job: its name, its schemas, its options and its handler. */
export interface JobDefinition<
  Type extends string = string,
  Payload extends Schema = Schema,
  Checkpoint extends Schema = Schema,
  Result extends HandlerResult = HandlerResult,
> extends JobOptions {
  readonly type: Type;
  readonly payload: Payload;
  /** Gives `job.checkpoint` and `save()` their type. @default - any JSON */
  readonly checkpoint?: Checkpoint;
  /** Does the work. Returning means done, throwing means not done: see docs/handlers.md for what a handler owes. */
  run(
    job: HandlerJob<Out<Payload>, Out<Checkpoint>>,
    context: JobContext<StandardSchemaV1.InferInput<Checkpoint>>,
  ): Promise<Result> | Result;
}

/**
 * Declares one type of job. The payload's type follows from its schema. Throws a `RegistryError` for what no worker could
 * run: a misspelt option, a lease out of its limits, a payload without a schema.
 */
export function defineJob<
  const Type extends string,
  Payload extends Schema,
  Checkpoint extends Schema = Schema<JsonValue>,
  Result extends HandlerResult = HandlerResult,
>(
  definition: JobDefinition<Type, Payload, Checkpoint, Result>,
): JobDefinition<Type, Payload, Checkpoint, Result> {
  const problems = definitionProblems(definition);
  if (problems.length > 0) throw new RegistryError(problems);
  return definition;
}
