import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/** What each folder of lib may import of the others. A folder that is not named here needs a line first. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  jobs: ['contract'],
  dynamodb: ['system', 'jobs', 'contract'],
  sqs: ['system', 'jobs', 'contract'],
  telemetry: ['jobs', 'contract'],
  events: ['jobs', 'contract'],
  system: ['jobs'],
  reaper: ['dynamodb', 'sqs', 'telemetry', 'events', 'system', 'jobs', 'contract'],
  worker: ['dynamodb', 'sqs', 'telemetry', 'events', 'system', 'jobs', 'contract'],
  testing: ['reaper', 'worker', 'jobs', 'contract'],
  cost: ['testing', 'jobs', 'contract'],
  infra: ['jobs', 'contract'],
  console: ['jobs', 'contract'],
  local: [
    'console',
    'reaper',
    'worker',
    'dynamodb',
    'sqs',
    'telemetry',
    'events',
    'system',
    'jobs',
    'contract',
  ],
  cli: [
    'local',
    'console',
    'cost',
    'reaper',
    'worker',
    'dynamodb',
    'sqs',
    'telemetry',
    'events',
    'system',
    'jobs',
    'contract',
  ],
};

/** Who alone may import a package at run time. The local stack plays SQS's part towards Lambda, so it speaks to SQS itself. */
const ONLY_IN: readonly { readonly packages: RegExp; readonly folders: readonly string[] }[] = [
  { packages: /^@aws-sdk\/(client-dynamodb|util-dynamodb)$/, folders: ['dynamodb'] },
  { packages: /^@aws-sdk\/client-sqs$/, folders: ['sqs', 'local'] },
  { packages: /^(aws-cdk-lib(\/.*)?|constructs)$/, folders: ['infra'] },
];

interface Import {
  readonly file: string;
  /** The folder of lib that imports. */
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
      folder: file.split(sep)[1] ?? '',
      typesOnly: /^\s*(import|export) type\b/.test(match[0]),
      specifier: match[1] ?? match[2] ?? match[3] ?? '',
    }));
  });

const imports = importsIn('lib/*/**/*.{ts,tsx}');
const folderOf = ({ file, specifier }: Import): string =>
  relative(root, join(root, dirname(file), specifier))
    .split(sep)
    .slice(0, 2)
    .join('/');

describe('the direction of dependencies', () => {
  it('is read from imports that are really there', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(imports).toContainEqual({
      file: 'lib/jobs/json.ts',
      folder: 'jobs',
      typesOnly: false,
      specifier: './errors.ts',
    });
  });

  it('has a line for every folder of lib', () => {
    expect(new Set(imports.map(({ folder }) => folder))).toEqual(new Set(Object.keys(MAY_IMPORT)));
  });

  it.each(Object.entries(MAY_IMPORT))('%s imports only %j', (folder, allowed) => {
    const wrong = imports
      .filter((each) => each.folder === folder && each.specifier.startsWith('.'))
      .filter((each) => {
        const target = folderOf(each);
        return target.startsWith('lib/') && ![folder, ...allowed].includes(target.slice('lib/'.length));
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

  it.each(ONLY_IN)('only $folders import $packages', ({ packages, folders }) => {
    const importers = imports.filter(({ specifier, typesOnly }) => packages.test(specifier) && !typesOnly);
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter(({ folder }) => !folders.includes(folder))).toEqual([]);
  });

  it('keeps what producers, stack and functions share free of everything', () => {
    const wanted = ['fastest-levenshtein', 'node:path', 'node:url'];
    const packages = imports.filter(
      ({ folder, specifier }) => folder === 'contract' && !specifier.startsWith('.'),
    );
    expect(packages.filter(({ specifier }) => !wanted.includes(specifier))).toEqual([]);
  });
});

describe('the core is pure', () => {
  it('imports nothing but the contract', () => {
    expect(
      imports.filter(({ folder, specifier }) => folder === 'jobs' && !specifier.startsWith('.')),
    ).toEqual([]);
  });

  it('has no time, chance, process or network of its own', () => {
    const impure =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\b\.|\bperformance\.|\bset(Timeout|Interval|Immediate)\(|\bfetch\(|\bconsole\./;
    const wrong = globSync('lib/jobs/**/*.ts', { cwd: root }).filter((file) =>
      impure.test(readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')),
    );
    expect(wrong).toEqual([]);
  });
});
