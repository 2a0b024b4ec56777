import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LeaseholdJobs } from '../../lib/cdk/index.ts';
import { LeaseholdGrants } from '../../lib/cdk/leasehold-grants.ts';
import { publicExports } from '../support/reference-page.ts';

const all = publicExports();
const codeOf = (name: string) => all.find((each) => each.name === name)?.code ?? '';
const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'));
const entries = Object.entries(manifest.exports as Readonly<Record<string, unknown>>).flatMap(
  ([path, conditions]) =>
    typeof conditions === 'string'
      ? []
      : [[path.replace('.', 'leasehold'), conditions as Conditions] as const],
);

interface Conditions {
  readonly import: { readonly default: string };
}

/** Methods and getters, with those of our own bases. */
function membersOf(prototype: object): readonly string[] {
  const base = Object.getPrototypeOf(prototype);
  const inherited = base.constructor.name === 'MeteredConstruct' ? membersOf(base) : [];
  return [...Object.getOwnPropertyNames(prototype), ...inherited].filter((name) => name !== 'constructor');
}

it.each(entries)('the reference has every export of %s', async (entry, conditions) => {
  const source = conditions.import.default.replace('./dist/', '../../').replace('.js', '.ts');
  const named = all.filter((each) => each.entry === entry).map(({ name }) => name);
  expect(named).toEqual(expect.arrayContaining(Object.keys(await import(source))));
});

it.each([
  ['LeaseholdJobs', LeaseholdJobs.prototype],
  ['LeaseholdGrants', LeaseholdGrants.prototype],
])('the reference has every member of %s', (name, prototype) => {
  const code = codeOf(name);
  expect(membersOf(prototype).filter((member) => !code.includes(` ${member}(`))).toEqual([]);
  expect(code).not.toContain('#');
});

it('the reference has the fields of errors, and the constructors of those that handlers throw', () => {
  expect(codeOf('ScanNeededError')).toContain('readonly cost: ');
  expect(codeOf('RetryAfter')).toMatch(/readonly ms: number;\n {2}constructor\(ms: number/);
  expect(codeOf('JobFailedError')).not.toContain('constructor');
  const errors = all.filter(({ kind }) => kind === 'error');
  expect(errors.filter(({ code }) => !/readonly code: (string|'[A-Z_]+');/.test(code))).toEqual([]);
});
