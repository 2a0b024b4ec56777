import { closest, distance } from 'fastest-levenshtein';

function nearest(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const candidate = closest(
    name.toLowerCase(),
    [...known].map((k) => k.toLowerCase()),
  );
  const found = known.find((k) => k.toLowerCase() === candidate);
  return found !== undefined && distance(name.toLowerCase(), candidate) <= Math.max(2, name.length / 3)
    ? found
    : undefined;
}

export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? '' : ` Did you mean '${near}'?`;
}
