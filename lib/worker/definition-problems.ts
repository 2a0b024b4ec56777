import { declarations, lowest } from '../settings/settings.ts';
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
} as const satisfies Record<keyof JobDefinition, true>;

const leaseParts = { ms: true, fixed: true } as const satisfies Record<
  keyof NonNullable<JobOptions['lease']>,
  true
>;
const backoffParts = { baseMs: true, capMs: true } as const satisfies Record<
  keyof NonNullable<JobOptions['backoff']>,
  true
>;

/** The shortest times count at the fastest time scale; a worker checks again, by its own settings. */
const limitsOf = (
  name: 'leaseMs' | 'maxAttempts' | 'maxCrashes' | 'maxRunMs' | 'progressTimeoutMs' | 'maxStallMs',
) => [lowest(declarations[name], declarations.timeScale.max), declarations[name].max] as const;

/** What makes a definition one that no worker can run, whatever its settings. */
export function definitionProblems(definition: unknown): string[] {
  if (!isObject(definition))
    return [`a job type must be an object with type, payload and run; it is ${quoted(definition)}`];
  const { type, lease, backoff } = definition;
  if (typeof type !== 'string' || !isJobType(type))
    return [`type ${quoted(type)} must be 1 to 100 characters of A-Z a-z 0-9 . _ -`];
  const problems = [
    ...unknownKeys(definition, parts, ''),
    ...schemaProblem('payload', definition.payload, 'required'),
    ...schemaProblem('checkpoint', definition.checkpoint, 'optional'),
    ...(typeof definition.run === 'function' ? [] : ['run must be the function that does the work']),
    ...group('lease', lease, leaseParts, '{ ms: 60_000 }'),
    ...group('backoff', backoff, backoffParts, '{ baseMs: 1000, capMs: 60_000 }'),
    ...numberProblem('lease.ms', isObject(lease) ? lease.ms : undefined, limitsOf('leaseMs')),
    ...(['maxAttempts', 'maxCrashes', 'maxRunMs', 'progressTimeoutMs', 'maxStallMs'] as const).flatMap(
      (name) => numberProblem(name, definition[name], limitsOf(name)),
    ),
    ...(['baseMs', 'capMs'] as const).flatMap((name) =>
      numberProblem(`backoff.${name}`, isObject(backoff) ? backoff[name] : undefined, [
        0,
        declarations.backoffCapMs.max,
      ]),
    ),
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

function schemaProblem(name: string, value: unknown, need: 'required' | 'optional'): string[] {
  if (value === undefined && need === 'optional') return [];
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
