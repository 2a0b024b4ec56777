import type { Spread } from '../support/statistics.ts';

/** A page with what stands between its markers `<!-- bench:name -->` and `<!-- /bench:name -->` replaced. */
export function filled(page: string, sections: Readonly<Record<string, string>>): string {
  return page.replaceAll(
    /(<!-- bench:(\w+) -->)[\s\S]*?(<!-- \/bench:\2 -->)/g,
    (_, from: string, name: string, to: string) => {
      const section = sections[name];
      if (section === undefined)
        throw new Error(`no section ${name}; there are ${Object.keys(sections).join(', ')}`);
      return `${from}\n\n${section.trim()}\n\n${to}`;
    },
  );
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

/** Three significant digits, with thousands set apart. */
export function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(value < 0.1 ? 2 : 3)));
}

/** The middle, and in brackets the lowest and the highest. */
export const spread = (value: Spread | undefined, each: (value: number) => string = figure): string =>
  value === undefined ? '–' : `${each(value.median)} (${each(value.lowest)}–${each(value.highest)})`;

export function seconds(ms: number): string {
  if (ms >= 3_600_000) return `${figure(ms / 3_600_000)} h`;
  return ms >= 120_000 ? `${figure(ms / 60_000)} min` : `${figure(ms / 1000)} s`;
}

/** A time of any length. */
export const duration = (ms: number): string => (ms < 1000 ? `${figure(ms)} ms` : seconds(ms));

/** How many times a value another is. */
export const ratio = (value: number | undefined, to: number | undefined): string =>
  value === undefined || to === undefined || to === 0 ? '–' : `${figure(value / to)}×`;
