import type { StepResult } from './step-runner.ts';

/** The value that `share` of the values do not exceed. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new Error('there is no percentile of nothing');
  return value;
}

/** p50, p99 and the maximum of durations, against the bound that they were promised. */
export function distribution(what: string, values: readonly number[], boundMs?: number): string {
  const shown = [0.5, 0.99, 1].map((share) => seconds(percentile(values, share)));
  const bound = boundMs === undefined ? '' : `; the bound is ${seconds(boundMs)}`;
  return `${what}, ${values.length} times: p50 ${shown[0]}, p99 ${shown[1]}, maximum ${shown[2]}${bound}`;
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

export interface Rehearsal {
  readonly startedAt: Date;
  readonly version: string;
  readonly region: string;
  readonly results: readonly StepResult[];
  readonly ending: string;
}

/** Sortable, and without the colons that Windows refuses. */
export const resultsFile = (startedAt: Date): string =>
  `leasehold-rehearsal-${startedAt.toISOString().slice(0, 19).replaceAll(':', '-')}Z.md`;

/** Without the account's number, so that it can be shared. */
export function resultsText({ startedAt, version, region, results, ending }: Rehearsal): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ');
  const rows = results.map(
    ({ name, title, outcome, ms, notes }) =>
      `| ${name} | ${cell(title)} | ${outcome} | ${ms === 0 ? '' : seconds(ms)} | ${notes.map(cell).join('<br>')} |`,
  );
  return [
    `# Rehearsal of Leasehold ${version} in ${region}`,
    '',
    `Started ${startedAt.toISOString()}. ${tally(results)}`,
    '',
    '| step | what | outcome | time | seen |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ending,
    '',
  ].join('\n');
}

export function tally(results: readonly StepResult[]): string {
  const outcomes = [...new Set(results.map(({ outcome }) => outcome))];
  const counts = outcomes.map(
    (each) => `${results.filter(({ outcome }) => outcome === each).length} ${each}`,
  );
  return `${results.length} steps: ${counts.join(', ')}.`;
}
