const inUnits = (ms: number, units: 1 | 2): string => {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(size)} ms`;
  if (size < 10_000) return `${Number((size / 1000).toFixed(1))} s`;
  const seconds = Math.round(size / 1000);
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + units)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
};

/** Two units: `1 h 30 min`, `12 s`, `340 ms`. */
export const formatDuration = (ms: number): string => inUnits(ms, 2);

/** One unit, for narrow columns: `1 h`. */
export const formatRoughly = (ms: number): string => inUnits(ms, 1);

export function formatAge(at: number, now: number, format = formatDuration): string {
  const distance = at - now;
  if (Math.abs(distance) < 500) return 'now';
  return distance < 0 ? `${format(distance)} ago` : `in ${format(distance)}`;
}
