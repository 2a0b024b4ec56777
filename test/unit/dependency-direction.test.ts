import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/** What each part of lib may import from the others. A part that is not named here needs a line first. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  wire: [],
  settings: ['wire'],
  protocol: ['settings', 'wire'],
  aws: ['protocol', 'settings', 'wire'],
  reaper: ['aws', 'protocol', 'settings', 'wire'],
  worker: ['reaper', 'aws', 'protocol', 'settings', 'wire'],
  'client/schedules': ['settings', 'wire'],
  'client/producer': ['worker', 'aws', 'protocol', 'settings', 'wire'],
  client: ['tools/plan', 'tools/inspect', 'client/producer', 'worker', 'aws', 'protocol', 'settings', 'wire'],
  testing: ['reaper', 'worker', 'protocol', 'settings', 'wire'],
  cdk: ['tools/bundle', 'client/schedules', 'settings', 'wire'],
  'tools/bundle': ['client/schedules', 'worker', 'settings', 'wire'],
  'tools/inspect': ['protocol', 'settings', 'wire'],
  'tools/plan': ['protocol', 'settings', 'wire'],
  'tools/console': ['client', 'tools/inspect', 'protocol', 'settings', 'wire'],
  'tools/dev': [
    'tools/bundle',
    'tools/console',
    'tools/inspect',
    'client',
    'client/schedules',
    'reaper',
    'worker',
    'aws',
    'protocol',
    'settings',
    'wire',
  ],
  'tools/cli': [
    'tools/dev',
    'tools/bundle',
    'tools/console',
    'tools/plan',
    'tools/inspect',
    'client',
    'client/producer',
    'client/schedules',
    'reaper',
    'worker',
    'aws',
    'protocol',
    'settings',
    'wire',
  ],
};

/** The part of lib that a file belongs to: the longest folder that has a line above. */
const partOf = (file: string): string =>
  Object.keys(MAY_IMPORT)
    .filter((part) => file.startsWith(`lib/${part}/`))
    .sort((a, b) => b.length - a.length)[0] ?? file;

/** Not in a folder of lib, and open to all of them but the pure ones. */
const EVERYBODYS = ['package.json', 'lib/this-package.ts', 'lib/node-version.ts'];

/** The folders that know no network, no machine and no time of their own. */
const PURE = ['wire', 'settings', 'client/schedules', 'protocol', 'tools/inspect'] as const;

/** Who alone may import a package at run time. The local stack plays SQS's part towards Lambda, so it speaks to SQS itself. */
const ONLY_IN: readonly { readonly packages: RegExp; readonly folders: readonly string[] }[] = [
  { packages: /^@aws-sdk\/(client-dynamodb|lib-dynamodb|util-dynamodb)$/, folders: ['aws'] },
  { packages: /^@aws-sdk\/client-sqs$/, folders: ['aws', 'tools/dev'] },
  { packages: /^@aws-sdk\/client-(cloudwatch|scheduler)$/, folders: ['aws'] },
  { packages: /^(aws-cdk-lib(\/.*)?|constructs)$/, folders: ['cdk'] },
];

interface Import {
  readonly file: string;
  /** The part of lib that imports. */
  readonly folder: string;
  /** Types alone are gone at run time. */
  readonly typesOnly: boolean;
  readonly specifier: string;
}

const importsIn = (pattern: string): Import[] =>
  globSync(pattern, { cwd: root }).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const found = text.matchAll(
      /(?:^|\s)(?:import|export)\b[^;'"]*?from\s*'([^']+)'|(?:^|\W)import\(\s*'([^']+)'|^import '([^']+)'/gm,
    );
    return [...found].map((match) => ({
      file,
      folder: partOf(file.split(sep).join('/')),
      typesOnly: /^\s*(import|export) type\b/.test(match[0]),
      specifier: match[1] ?? match[2] ?? match[3] ?? '',
    }));
  });

const imports = importsIn('lib/*/**/*.{ts,tsx}');
const targetOf = ({ file, specifier }: Import): string =>
  partOf(
    relative(root, join(root, dirname(file), specifier))
      .split(sep)
      .join('/'),
  );

describe('the direction of dependencies', () => {
  it('is read from imports that are really there', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(imports).toContainEqual({
      file: 'lib/protocol/rows/json-text.ts',
      folder: 'protocol',
      typesOnly: false,
      specifier: '../errors.ts',
    });
  });

  it('has a line for every part of lib', () => {
    expect(new Set(imports.map(({ folder }) => folder))).toEqual(new Set(Object.keys(MAY_IMPORT)));
  });

  it.each(Object.entries(MAY_IMPORT))('%s imports only %j', (folder, allowed) => {
    const wrong = imports
      .filter((each) => each.folder === folder && each.specifier.startsWith('.'))
      .filter((each) => {
        const target = targetOf(each);
        return !EVERYBODYS.includes(target) && ![folder, ...allowed].includes(target);
      });
    expect(wrong).toEqual([]);
  });

  it('has no circle', () => {
    const reaches = (from: string, seen: readonly string[] = []): readonly string[] =>
      (MAY_IMPORT[from] ?? []).flatMap((to) =>
        seen.includes(to) ? [to] : [to, ...reaches(to, [...seen, to])],
      );
    for (const folder of Object.keys(MAY_IMPORT)) expect(reaches(folder)).not.toContain(folder);
  });

  it('is drawn in the docs: every arrow is allowed, and all that is allowed is reached by arrows', () => {
    const page = readFileSync(join(root, 'docs/internals/architecture.md'), 'utf8');
    const arrows = [...page.matchAll(/^ {4}(\S+) --> (\S+)$/gm)].map(([, from = '', to = '']) => ({
      from,
      to,
    }));
    const reached = (part: string): readonly string[] =>
      arrows.filter(({ from }) => from === part).flatMap(({ to }) => [to, ...reached(to)]);
    for (const { from, to } of arrows) expect(MAY_IMPORT[from], `${from} --> ${to}`).toContain(to);
    for (const [part, allowed] of Object.entries(MAY_IMPORT))
      expect(reached(part)).toEqual(expect.arrayContaining([...allowed]));
  });

  it.each(ONLY_IN)('only $folders import $packages', ({ packages, folders }) => {
    const importers = imports.filter(({ specifier, typesOnly }) => packages.test(specifier) && !typesOnly);
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter(({ folder }) => !folders.includes(folder))).toEqual([]);
  });

  it('imports middy in one file, which the build bundles because CommonJS cannot load the package', () => {
    const importers = globSync('{lib,functions}/**/*.ts').filter((file) =>
      importsIn(file).some(({ specifier }) => specifier.startsWith('@middy/')),
    );
    expect(importers).toEqual(['lib/aws/lambda/middy.ts']);
  });
});

describe.each(PURE)('lib/%s is pure', (folder) => {
  it('imports no package but the one that finds the nearest word', () => {
    const packages = imports.filter((each) => each.folder === folder && !each.specifier.startsWith('.'));
    expect(packages.filter(({ specifier }) => specifier !== 'fastest-levenshtein')).toEqual([]);
  });

  it('uses no clock, randomness, process or network', () => {
    const impure =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\b\.|\bperformance\.|\bset(Timeout|Interval|Immediate)\(|\bfetch\(|\bconsole\./;
    const files = globSync(`lib/${folder}/**/*.ts`, { cwd: root });
    expect(files.length).toBeGreaterThan(0);
    const wrong = files.filter((file) =>
      impure.test(readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')),
    );
    expect(wrong).toEqual([]);
  });
});
