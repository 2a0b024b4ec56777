import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { snippets } from './snippets.ts';

const folder = join(import.meta.dirname, '..', '..', '.cache', `recipes-${process.pid}`);

/** What a recipe uses without saying where it comes from: the test's own. */
type Surroundings = Readonly<Record<string, unknown>>;

/** The snippets of docs/guides/recipes.md: those for a stack's constructor, or those that run. */
export const recipes = (of: 'stack' | 'code') =>
  snippets().filter(
    ({ page, language, text }) =>
      page === 'docs/guides/recipes.md' && language === 'ts' && text.includes('(this, ') === (of === 'stack'),
  );

/** Runs a snippet as it is printed, among these things; returns what it exports. */
export async function runRecipe(
  { text, line }: { readonly text: string; readonly line: number },
  surroundings: Surroundings,
  stack?: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const lines = text.split('\n');
  const isImport = (each: string) => each.startsWith('import ');
  const declared = [...text.matchAll(/^(?:import \{([^}]*)\}|(?:export )?const (\w+))/gm)].flatMap(
    ([, imported, constant]) =>
      imported === undefined ? [constant] : imported.split(',').map((each) => each.trim().split(' ').at(-1)),
  );
  const names = Object.keys(surroundings).filter((name) => !declared.includes(name));
  const rest = lines.filter((each) => !isImport(each)).join('\n');
  const module = [
    ...lines.filter(isImport),
    `const { ${names.join(', ')} } = globalThis.recipe;`,
    stack === undefined
      ? rest
      : `await (async function () {\n${rest}\n}).call(globalThis.recipe.stack);\nexport {};`,
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  // A package of its own, like a user's: else `leasehold` is what the build left here, if anything did.
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'registry.ts'), 'export const { registry } = globalThis.recipe;');
  const file = join(folder, `recipe-${line}.ts`);
  writeFileSync(file, module);
  Object.assign(globalThis, { recipe: { ...surroundings, stack } });
  return (await import(file)) as Readonly<Record<string, unknown>>;
}
