import { PARTS } from '../scenarios/parts.ts';
import { headlineSection } from './headline.ts';
import { figure, table } from './markdown.ts';
import { recoverySections } from './recovery.ts';
import type { Results } from './results.ts';
import { throughputSections } from './throughput.ts';

/** The sections that compare Leasehold with its peers, and when each was measured. */
export const performanceSections = (results: Results): Record<string, string> => ({
  headline: headlineSection(results),
  ...recoverySections(results),
  ...throughputSections(results),
  when: whenSection(results),
});

/** When each part was measured, and what else the machine did. */
function whenSection({ machine, parts, skipped }: Results): string {
  const rows = Object.entries(PARTS).map(([name, { minutes, what }]) => {
    const measured = parts?.[name as keyof typeof PARTS];
    const { loadBefore, loadAfter } = measured ?? {};
    return [
      `\`${name}\``,
      what + (measured?.systems === undefined ? '' : ` (${measured.systems.replaceAll(',', ', ')})`),
      measured?.date ?? 'not yet',
      loadBefore === undefined ? '–' : `${figure(loadBefore)} and ${figure(loadAfter)}`,
      String(measured?.minutes ?? `≤ ${minutes}`),
    ];
  });
  const left = Object.entries(skipped ?? {}).map(([name, why]) => `\n- ${name} was skipped: ${why}`);
  const where =
    machine && `Last on ${machine.cores} cores (${machine.cpu}), Node ${machine.node}.${left.join('')}`;
  return `${table(['part', 'what', 'measured', 'load before and after', 'minutes'], rows)}\n\n${where ?? ''}`;
}
