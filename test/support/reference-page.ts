import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** The entries of the package, in the order in which a user meets them. */
const ENTRIES = [
  ['leasehold', 'lib/index.ts'],
  ['leasehold/producer', 'lib/client/producer/index.ts'],
  ['leasehold/client', 'lib/client/index.ts'],
  ['leasehold/testing', 'lib/testing/index.ts'],
  ['leasehold/cdk', 'lib/cdk/index.ts'],
  ['leasehold/worker', 'lib/worker/index.ts'],
  ['leasehold/local', 'lib/tools/dev/index.ts'],
  ['leasehold/reaper', 'lib/reaper/index.ts'],
] as const;

export interface Exported {
  readonly entry: string;
  readonly name: string;
  readonly file: string;
  /** What its doc comment says. */
  readonly says: string;
  /** Its declaration, without bodies of functions and classes. */
  readonly code: string;
}

/** Everything that the package exports, with its doc comment, read from the sources. */
export const publicExports = (): readonly Exported[] =>
  ENTRIES.flatMap(([entry, file]) =>
    exportsOf(join(root, file)).map(({ name, from }) => ({ entry, ...declarationOf(name, from) })),
  );

/** The reference: each entry with its exports. */
export function referencePage(): string {
  const all = publicExports();
  const parts = ENTRIES.map(([entry]) => {
    const own = all.filter((each) => each.entry === entry).sort((a, b) => a.name.localeCompare(b.name));
    const texts = own.map(
      ({ name, says, code }) => `### \`${name}\`\n\n${says}\n\n\`\`\`ts\n${code}\n\`\`\``,
    );
    return [`## ${entry}`, ...texts].join('\n\n');
  });
  return parts.join('\n\n');
}

/** The names that a module exports, each with the file that declares it. */
function exportsOf(file: string): { readonly name: string; readonly from: string }[] {
  const text = readFileSync(file, 'utf8');
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from '(.+)')?;/gm)];
  const listed = lists.flatMap(([, names = '', from]) =>
    names
      .split(',')
      .map((name) => name.replace('type ', '').trim())
      .filter((name) => name !== '')
      .map((name) => ({
        name,
        from: from === undefined ? importedFrom(text, name, file) : beside(file, from),
      })),
  );
  const declared = [...text.matchAll(/^export (?:async )?(?:function|class|const|interface|type) (\w+)/gm)];
  return [...listed, ...declared.map(([, name = '']) => ({ name, from: file }))];
}

const beside = (file: string, specifier: string): string => join(dirname(file), specifier);

function importedFrom(text: string, name: string, file: string): string {
  const imports = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '(\..+)';/gm)];
  const [, , from] = imports.find(([, names = '']) => new RegExp(`\\b${name}\\b`).test(names)) ?? [];
  if (from === undefined) throw new Error(`${file} exports ${name}, which it neither declares nor imports`);
  return beside(file, from);
}

function declarationOf(name: string, file: string): Omit<Exported, 'entry'> {
  const text = readFileSync(file, 'utf8');
  const found = new RegExp(
    `(?:^/\\*\\*((?:(?!\\*/)[\\s\\S])*?)\\*/\\n)?^export ((?:abstract |async )*(function|class|const|interface|type) ${name}\\b)`,
    'm',
  ).exec(text);
  if (found === null) {
    const again = exportsOf(file).find((each) => each.name === name && each.from !== file);
    if (again === undefined) throw new Error(`${relative(root, file)} does not declare ${name}`);
    return declarationOf(name, again.from);
  }
  const [, comment = '', , kind = ''] = found;
  const start = found.index + found[0].length - (found[2] ?? '').length;
  return { name, file: relative(root, file), says: saidIn(comment), code: codeFrom(text.slice(start), kind) };
}

const saidIn = (comment: string): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .join('\n')
    .trim();

/** A function without its body, a class without its members, an interface or type as it is. */
function codeFrom(text: string, kind: string): string {
  switch (kind) {
    case 'interface':
      return `${text.slice(0, text.indexOf('\n}'))}\n}`;
    case 'class':
      return text.slice(0, text.indexOf(' {\n'));
    case 'function':
      return text.slice(0, text.indexOf(' {\n', closing(text)));
    case 'const':
      return /^const \w+ = (async )?(<[^>]*>)?\(/.test(text)
        ? text.slice(0, text.indexOf(' =>', closing(text)))
        : text.slice(0, text.indexOf(' = '));
    default:
      return text.slice(0, text.search(/;\n(?![^\S\n])/));
  }
}

/** Where a function's list of parameters ends. */
function closing(text: string): number {
  let depth = 0;
  for (let at = text.indexOf('('); at < text.length; at++) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}
