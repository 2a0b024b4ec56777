import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Backoff } from '../protocol/decisions/backoff.ts';
import type { Telemetry } from '../protocol/ports.ts';
import type { Limit } from '../wire/limits.ts';
import type { JsonValue } from '../wire/message.ts';
import type { TraceContext } from '../wire/trace.ts';
import { definitionProblems } from './definition-problems.ts';
import { RegistryError } from './registry.ts';

/** Any schema library that follows Standard Schema: zod, valibot, arktype and others. */
export type Schema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output>;

type Out<S extends Schema> = StandardSchemaV1.InferOutput<S>;

/** `Value` as far as JSON can express it. Unlike `JsonValue`, it takes interfaces. */
type Json<Value> = Value extends JsonValue | undefined
  ? Value
  : Value extends (...args: never[]) => unknown
    ? never
    : Value extends object
      ? { [Key in keyof Value]: Json<Value[Key]> }
      : never;

type AnyJson = Schema<JsonValue | object | undefined, JsonValue>;

/** The job that a handler runs. */
export interface HandlerJob<Payload = unknown, Checkpoint = unknown> {
  readonly jobId: string;
  readonly type: string;
  /** The schema's output. */
  readonly payload: Payload;
  /** 1 for the first run. */
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
  readonly createdAt: number;
  readonly checkpoint: Checkpoint | undefined;
  /** Same in every attempt: pass it to services that deduplicate requests. */
  readonly idempotencyKey: string;
  /** Rises with every attempt: pass it to stores that reject older tokens. */
  readonly fencingToken: number;
}

/** What a handler can use besides its job. */
export interface JobContext<Checkpoint = JsonValue> {
  /** Aborts with an `AbortReason`. */
  readonly signal: AbortSignal;
  /** The producer's trace; jobs sent by this handler continue it. */
  readonly trace: TraceContext;
  /** Stores a checkpoint for the next run. Throws when the lease is gone. */
  save(place: Checkpoint): Promise<void>;
  /** Reports progress, stored at most once per heartbeat interval. */
  progress<Value>(value: Value & Json<Value>): void;
  /** Log lines carry the job ID and attempt. */
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
}

interface LeaseOptions {
  readonly ms: number;
  /** Never renewed, for short work of known length. @default false */
  readonly fixed?: boolean;
}

/** How jobs of a type are leased, retried and limited. The settings supply what you omit. */
export interface JobOptions {
  /** @default - the setting `leaseMs`, renewed by heartbeats */
  readonly lease?: LeaseOptions;
  /** Errors plus crashes before the job fails for good. @default - the setting `maxAttempts` */
  readonly maxAttempts?: number;
  /** Crashes before the job is quarantined. @default - the setting `maxCrashes` */
  readonly maxCrashes?: number;
  /**
   * Full-jitter wait between retries, or a function of the errors so far and the last one that returns milliseconds, at most a day.
   *
   * @default - the settings `backoffBaseMs` and `backoffCapMs`
   */
  readonly backoff?: Backoff | ((errors: number, error: unknown) => number);
  /** Longest run of one attempt. @default - the setting `maxRunMs` */
  readonly maxRunMs?: number;
  /** Longest gap between progress reports; 0 turns it off. @default - the setting `progressTimeoutMs` */
  readonly progressTimeoutMs?: number;
  /** Longest block of the event loop. @default - the setting `maxStallMs` */
  readonly maxStallMs?: number;
  /** Most jobs of the type that run at once, 1 to 100, or of each `key` with `{ perKey: n }`. @default - no limit */
  readonly limit?: Limit;
}

/** A job type: its name, schemas, options and handler. */
export interface JobDefinition<
  Type extends string = string,
  Payload extends Schema = Schema,
  Checkpoint extends Schema = Schema,
  Result = unknown,
> extends JobOptions {
  readonly type: Type;
  /** Types `job.payload` and `send`, and checks every payload. @default - any JSON */
  readonly payload?: Payload;
  /** Types `job.checkpoint` and `save()`. @default - any JSON */
  readonly checkpoint?: Checkpoint;
  /** Return when the job is done, throw when it is not; see docs/guides/handlers.md. */
  run(
    job: HandlerJob<Out<Payload>, Out<Checkpoint>>,
    context: JobContext<StandardSchemaV1.InferInput<Checkpoint>>,
  ): Result;
}

/** A type error at `run` unless the handler returns JSON or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void
type JsonResult<Result> = [Result] extends [Json<Result> | void] ? unknown : { run(): Json<Result> };

/** Defines a job type. Throws a `RegistryError` for a definition that no worker could run. */
export function defineJob<
  const Type extends string,
  Payload extends Schema = AnyJson,
  Checkpoint extends Schema = AnyJson,
  Result = unknown,
>(
  definition: JobDefinition<Type, Payload, Checkpoint, Result> & JsonResult<Awaited<Result>>,
): JobDefinition<Type, Payload, Checkpoint, Result> {
  const problems = definitionProblems(definition);
  if (problems.length > 0) throw new RegistryError(problems);
  return definition;
}
