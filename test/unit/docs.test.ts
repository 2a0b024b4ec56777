import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recoveryBound } from '../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createProgram } from '../../lib/tools/cli/program.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';
import { beatsOf } from '../../lib/tools/plan/plan.ts';
import { listPrices } from '../../lib/tools/plan/prices.ts';
import {
  billTable,
  breakEvenTable,
  costSummary,
  furtherMillions,
  jobHoursTable,
  shortJobsTable,
} from '../support/cost-tables.ts';
import {
  commonSettingsTable,
  dataTable,
  grantsTable,
  leaderTable,
  limitTable,
  partitionTable,
  transitionDiagram,
  transitionTable,
  tuningTable,
} from '../support/generated-docs.ts';
import { publicExports, referencePage } from '../support/reference-page.ts';
import { runningJobTable, shardsTable, startsTable, tableUnitsTable } from '../support/scale-tables.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const pages = globSync(['docs/**/*.md', 'examples/**/*.md', '*.md'], { cwd: root });

/** Set to rewrite the generated parts instead of comparing them. */
const REWRITE = 'UPDATE_DOCS';

describe('generated parts of the docs', () => {
  it.each([
    ['docs/internals/state-machine.md', 'diagram', transitionDiagram],
    ['docs/internals/state-machine.md', 'transitions', transitionTable],
    ['docs/internals/state-machine.md', 'leader', leaderTable],
    ['docs/internals/state-machine.md', 'data', dataTable],
    ['docs/internals/state-machine.md', 'limits', limitTable],
    ['docs/operating/settings.md', 'common settings', commonSettingsTable],
    ['docs/operating/settings.md', 'tuning', tuningTable],
    ['docs/operating/deploying.md', 'grants', grantsTable],
    ['README.md', 'cost', costSummary],
    ['docs/operating/scale.md', 'a running job', runningJobTable],
    ['docs/operating/scale.md', 'shards', shardsTable],
    ['docs/operating/scale.md', 'starts', startsTable],
    ['docs/operating/scale.md', 'units', tableUnitsTable],
    ['docs/operating/scale.md', 'partitions', partitionTable],
    ['docs/operating/cost.md', 'short jobs', shortJobsTable],
    ['docs/operating/cost.md', 'job hours', jobHoursTable],
    ['docs/operating/cost.md', 'break-even', breakEvenTable],
    ['docs/operating/cost.md', 'bill', billTable],
    ['docs/operating/cost.md', 'further millions', furtherMillions],
    ['docs/reference.md', 'reference', referencePage],
  ])('%s has today’s %s', (file, name, generate) => {
    const [begin, end] = [`<!-- generated: ${name} -->`, '<!-- end of generated part -->'];
    const text = read(file);
    const from = text.indexOf(begin) + begin.length;
    const to = text.indexOf(end, from);
    expect(from, `${file} needs the line ${begin}`).toBeGreaterThanOrEqual(begin.length);
    const wanted = `\n\n${generate()}\n\n`;
    if (process.env[REWRITE]) writeFileSync(join(root, file), text.slice(0, from) + wanted + text.slice(to));
    else expect(text.slice(from, to), `stale: run the tests once with ${REWRITE}=1`).toBe(wanted);
  });
});

it('every export of the package says what it is', () => {
  const silent = publicExports().filter(({ says }) => says === '');
  expect(silent.map(({ entry, name, file }) => `${entry}: ${name} in ${file}`)).toEqual([]);
});

/** Whether npm packs it: what `files` names, and what it always takes along. */
function isPacked(file: string): boolean {
  const { files } = JSON.parse(read('package.json')) as { readonly files: readonly string[] };
  const isIn = (folder: string) => file === folder || file.startsWith(`${folder}/`);
  const isLeftOut = files.some((each) => each.startsWith('!') && isIn(each.slice(1)));
  return !isLeftOut && [...files, 'README.md', 'LICENSE', 'package.json'].some(isIn);
}

it('every picture is shown on a page', () => {
  const text = pages.map(read).join('\n');
  const pictures = globSync('docs/images/*', { cwd: root }).map((file) => basename(file));
  expect(pictures.filter((picture) => !text.includes(picture))).toEqual([]);
});

describe('links in the docs', () => {
  const anchor = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
  const anchorsOf = (file: string) =>
    [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchor(heading));

  it.each(pages)('%s has no dead links', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
    const dead = links.filter((link) => {
      const [path = '', fragment] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(root, target))) return true;
      // What is read in node_modules must be there, too.
      if (isPacked(page) && !isPacked(target)) return true;
      return fragment !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(fragment);
    });
    expect(dead).toEqual([]);
  });
});

it('the page of the command line lists every command, and no other', async () => {
  const program = await createProgram({ terminal: { columns: 80 } as Terminal, end: () => {} }, []);
  const table = read('docs/operating/cli.md').match(/## Commands\n([\s\S]*?)\n## /)?.[1] ?? '';
  const cells = [...table.matchAll(/^\| (`.+?) \|/gm)].map(([, cell = '']) => cell);
  const listed = cells.flatMap((cell) => [...cell.matchAll(/`([a-z-]+)/g)].map(([, name]) => name));
  const named = program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name())
    .filter((name) => name !== 'help');
  expect([...new Set(listed)].sort()).toEqual([...named].sort());
});

describe('the page of the architecture', () => {
  const page = read('docs/internals/architecture.md');
  const pathsIn = (text: string) =>
    [...text.matchAll(/`((?:lib|functions|test|docs|tools)\/[\w./-]+)`/g)].map(([, path = '']) => path);

  it('names only files that exist', () => {
    expect(pathsIn(page).length).toBeGreaterThan(50);
    expect(pathsIn(page).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('names only functions that a file of the same step exports', () => {
    const steps = page.split(/^(?:\d+\. |\| |#)/m);
    const named = steps.flatMap((step) =>
      [...step.matchAll(/`(\w+)\(\)`/g)].map(([, name = '']) => ({ name, files: pathsIn(step) })),
    );
    expect(named.length).toBeGreaterThan(10);
    const missing = named.filter(
      ({ name, files }) => !files.some((file) => new RegExp(`^export .*\\b${name}\\b`, 'm').test(read(file))),
    );
    expect(missing).toEqual([]);
  });
});

describe('decisions', () => {
  const decisions = globSync('docs/internals/decisions/0*.md', { cwd: root }).sort();
  const titleOf = (file: string) => read(file).match(/^# (\d+\. .+)$/m)?.[1];

  it.each(decisions)('%s has context, decision and consequences, on a screen', (file) => {
    const text = read(file);
    const parts = [...text.matchAll(/^\*\*(Context|Decision|Consequences)\.\*\* /gm)].map(([, part]) => part);
    expect(parts).toEqual(['Context', 'Decision', 'Consequences']);
    expect(text.split('\n').length).toBeLessThanOrEqual(46);
  });

  it('have the number of their file, and are listed with their titles', () => {
    expect(decisions.map((file) => Number.parseInt(titleOf(file) ?? '', 10))).toEqual(
      decisions.map((file) => Number.parseInt(basename(file), 10)),
    );
    const listed = [...read('docs/internals/decisions/README.md').matchAll(/^- \[(.+)\]\((.+)\)$/gm)];
    expect(listed.map(([, title, file]) => [`docs/internals/decisions/${file}`, title])).toEqual(
      decisions.map((file) => [file, titleOf(file)]),
    );
  });
});

describe('the evidence for the guarantees', () => {
  /** Each point of a list that names tests: their *titles*, and the files that have them. */
  const points = read('docs/internals/evidence.md')
    .split(/^(?:- |#+ |\*\*)/m)
    .map((point) => ({
      titles: [...point.replaceAll(/\*\*.*?\*\*/g, '').matchAll(/\*([^*]+)\*/g)].map(([, title = '']) =>
        title.replaceAll(/\s+/g, ' '),
      ),
      files: [...point.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file),
    }))
    .filter(({ files }) => files.length > 0);
  const named = points.flatMap(({ titles, files }) => titles.map((title) => ({ title, files })));

  it('names tests', () => {
    expect(named.length).toBeGreaterThan(20);
  });

  it.each(named)('names a test that exists: $title', ({ title, files }) => {
    expect(files.map(read).join('\n')).toContain(title);
  });
});

it('prices a thousand job-hours by the beats that a plan counts, jitter included', () => {
  const settings = resolveSettings();
  const dollars = (beatsOf(3_600_000, settings) * 3 * 1000 * listPrices.perMillionWriteUnits) / 1e6;
  const [, told] = read('docs/operating/cost.md').match(/lease 20 s, beat every 5 s \| \$([\d.]+) /) ?? [];
  expect(Math.abs(Number(told) - dollars)).toBeLessThan(0.01);
});

describe('the README', () => {
  const readme = read('README.md');

  it('names the command that runs the tests, which CI runs', () => {
    const command = 'npm ci && npm test';
    expect(readme).toContain(`\n${command}\n`);
    expect(read('.ci/run')).toContain(`\n${command}\n`);
  });

  it('has no amount of money that the page of costs has not', () => {
    const amounts = [...readme.matchAll(/\$\d+\.\d+/g)].map(([amount]) => amount);
    expect(amounts.length).toBeGreaterThan(4);
    const cost = read('docs/operating/cost.md');
    expect(amounts.filter((amount) => !cost.includes(amount))).toEqual([]);
  });

  it('promises the recovery that follows from the default settings', () => {
    const { usualMs, worstMs } = recoveryBound(resolveSettings());
    expect(readme).toContain(`within ${usualMs / 1000} s with the default settings`);
    expect(readme).toContain(`is reclaimed within ${usualMs / 1000} s (calculated) |`);
    expect(readme.replaceAll(/\s+/g, ' ')).toContain(`or ${worstMs / 1000} s if the reaper dies`);
  });

  it('has the recovery of a peer that was measured', () => {
    const crash = read('docs/operating/performance.md').split('<!-- bench:crash -->')[1] ?? '';
    const measured = (system: string) => Number(crash.match(`\\| ${system} \\| ([\\d.]+) s`)?.[1]);
    const told = (system: string) =>
      Number(readme.match(`\\| \\**${system}\\** \\|[^|]*\\| starts again after (\\d+) s`)?.[1]);
    expect(Math.abs(told('BullMQ') - measured('BullMQ'))).toBeLessThanOrEqual(0.5);
  });
});
