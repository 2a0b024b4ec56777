import type { Backoff } from '../protocol/decisions/backoff.ts';
import { declarations, MAX_LEASE_MS, type Settings } from '../settings/settings.ts';
import { isLimitNumber, MAX_LIMIT } from '../wire/limits.ts';
import { isJobType, quoted } from '../wire/message.ts';
import { didYouMean } from '../wire/nearest.ts';
import type { JobDefinition, JobOptions } from './define-job.ts';

const parts = {
  type: true,
  payload: true,
  checkpoint: true,
  run: true,
  lease: true,
  maxAttempts: true,
  maxCrashes: true,
  backoff: true,
  maxRunMs: true,
  progressTimeoutMs: true,
  maxStallMs: true,
  limit: true,
} as const satisfies Record<keyof JobDefinition, true>;

const leaseParts = { ms: true, fixed: true } as const satisfies Record<
  keyof NonNullable<JobOptions['lease']>,
  true
>;
const backoffParts = { baseMs: true, capMs: true } as const satisfies Record<keyof Backoff, true>;

export function definitionProblems(definition: unknown): string[] {
  if (!isObject(definition))
    return [`a job type must be an object with type and run; it is ${quoted(definition)}`];
  const { type, lease, backoff, limit } = definition;
  if (typeof type !== 'string' || !isJobType(type))
    return [`type ${quoted(type)} must be 1 to 100 characters of A-Z a-z 0-9 . _ -`];
  const problems = [
    ...unknownKeys(definition, parts, ''),
    ...schemaProblem('payload', definition.payload),
    ...schemaProblem('checkpoint', definition.checkpoint),
    ...(typeof definition.run === 'function' ? [] : ['run must be the function that does the work']),
    ...group('lease', lease, leaseParts, '{ ms: 60_000 }'),
    ...(typeof backoff === 'function'
      ? []
      : group('backoff', backoff, backoffParts, '{ baseMs: 1000, capMs: 60_000 }')),
    ...limitProblem(limit),
    ...numberProblems(definition),
  ];
  return problems.map((problem) => `type '${type}': ${problem}`);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function unknownKeys(given: object, known: object, prefix: string): string[] {
  const names = Object.keys(known);
  return Object.entries(given)
    .filter(([name, value]) => value !== undefined && !names.includes(name))
    .map(
      ([name]) =>
        `'${prefix}${name}' is unknown.${didYouMean(name, names)} Allowed: ${names.map((each) => prefix + each).join(', ')}`,
    );
}

function group(name: string, value: unknown, known: object, example: string): string[] {
  if (value === undefined) return [];
  if (!isObject(value)) return [`${name} is ${quoted(value)}; it must be an object such as ${example}`];
  return unknownKeys(value, known, `${name}.`);
}

/** Without settings, checks only what no settings allow. */
export function numberProblems(definition: JobOptions, settings?: Settings): string[] {
  const lease = isObject(definition.lease) ? definition.lease : undefined;
  const backoff = isObject(definition.backoff) ? definition.backoff : undefined;
  const backoffMax = declarations.backoffCapMs.max;
  const maxAttempts = settings && (definition.maxAttempts ?? settings.maxAttempts);
  return [
    ...numberProblem('lease.ms', lease?.ms, [settings?.minLeaseMs ?? 1, MAX_LEASE_MS]),
    ...numberProblem('maxCrashes', definition.maxCrashes, [1, maxAttempts ?? declarations.maxCrashes.max]),
    ...numberProblem('backoff.baseMs', backoff?.baseMs, [
      0,
      settings ? Number(backoff?.capMs ?? backoffMax) : backoffMax,
    ]),
    ...numberProblem('backoff.capMs', backoff?.capMs, [0, backoffMax]),
    ...(['maxAttempts', 'maxRunMs', 'progressTimeoutMs', 'maxStallMs'] as const).flatMap((name) => {
      // A local stack may have settings below the minimum.
      const { min, max } = declarations[name];
      return numberProblem(name, definition[name], [Math.min(min, settings?.[name] ?? min), max]);
    }),
  ];
}

function limitProblem(limit: unknown): string[] {
  if (limit === undefined || isLimitNumber(limit)) return [];
  if (typeof limit === 'number')
    return [
      `limit is ${quoted(limit)}; it must be a whole number from 1 to ${MAX_LIMIT}. To run none, pause the type: leasehold pause`,
    ];
  const isPerKey = isObject(limit) && Object.keys(limit).join() === 'perKey';
  if (!isPerKey)
    return [
      `limit is ${quoted(limit)}; it must be a whole number from 1 to ${MAX_LIMIT}, or { perKey: n } to count each key separately. A type has one of the two`,
    ];
  return numberProblem('limit.perKey', limit.perKey ?? null, [1, MAX_LIMIT]);
}

function schemaProblem(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  // arktype's schemas are functions.
  const standard = (value as { readonly '~standard'?: { readonly validate?: unknown } } | null | undefined)?.[
    '~standard'
  ];
  return typeof standard?.validate === 'function'
    ? []
    : [
        `${name} must be a schema of zod, valibot, arktype or another library that follows Standard Schema, such as z.object({ ... })`,
      ];
}

function numberProblem(name: string, value: unknown, [min, max]: readonly [number, number]): string[] {
  const isRight =
    value === undefined || (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max);
  return isRight ? [] : [`${name} is ${quoted(value)}; it must be a whole number from ${min} to ${max}`];
}
