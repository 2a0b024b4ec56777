import { isLimitNumber, MAX_LIMIT } from '../wire/limits.ts';
import { isJobType, isKey, KEY_RULE } from '../wire/message.ts';
import type { JobOptions } from '../worker/define-job.ts';
import { type Registry, UnknownTypeError } from '../worker/registry.ts';
import { BadRequestError } from './errors.ts';

/** A pause or limit of a type that nobody sends would do nothing, without a word. */
export function checkType(registry: Registry | undefined, type: string): void {
  if (!isJobType(type)) throw new BadRequestError('type', type, '1 to 100 characters of A-Z a-z 0-9 . _ -');
  if (registry !== undefined && registry.find(type) === undefined)
    throw new UnknownTypeError(
      type,
      registry.definitions.map((each) => each.type),
    );
}

/** A definition is known only with a registry. */
export function checkLimit(
  definition: JobOptions | undefined,
  { limit, key }: { readonly type: string; readonly limit?: number; readonly key?: string },
): void {
  if (limit !== undefined && !isLimitNumber(limit))
    throw new BadRequestError(
      'limit',
      limit,
      `a whole number from 1 to ${MAX_LIMIT}; to run none, pause the type`,
    );
  if (key !== undefined && !isKey(key)) throw new BadRequestError('key', key, KEY_RULE);
  if (definition === undefined) return;
  if (definition.limit === undefined)
    throw new BadRequestError(
      'limit',
      limit,
      "for a type with a 'limit' in its definition; add one and deploy it",
    );
  if (key !== undefined && typeof definition.limit === 'number')
    throw new BadRequestError('key', key, 'for a type with a limit per key; leave it out');
}
