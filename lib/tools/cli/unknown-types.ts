import { didYouMean } from '../../wire/nearest.ts';

/** Undefined if all types are known, or the workers' types are not. */
export function unknownTypes(
  known: readonly string[] | undefined,
  types: Iterable<string>,
): string | undefined {
  if (known === undefined) return undefined;
  const unknown = [...new Set(types)].filter((type) => !known.includes(type));
  if (unknown.length === 0) return undefined;
  const [first = ''] = unknown;
  const names = unknown.map((type) => `'${type}'`).join(', ');
  return `The jobs module has no type ${names}, so such a job fails.${didYouMean(first, known)} It has ${known.join(', ')}.`;
}
