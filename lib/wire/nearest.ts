import { closest, distance } from 'fastest-levenshtein';

export function didYouMean(name: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const asked = name.toLowerCase();
  const candidate = closest(
    asked,
    known.map((each) => each.toLowerCase()),
  );
  if (distance(asked, candidate) > Math.max(2, name.length / 3)) return '';
  return ` Did you mean '${known.find((each) => each.toLowerCase() === candidate)}'?`;
}
