import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** The entries of the package, in the order in which a user meets them. */
const ENTRIES = [
  ['leasehold', 'lib/index.ts', 'Job types, and what their handlers use.'],
  ['leasehold/producer', 'lib/client/producer/index.ts', 'Sends jobs.'],
  ['leasehold/client', 'lib/client/index.ts', 'Sends, finds, awaits, and manages jobs.'],
  ['leasehold/testing', 'lib/testing/index.ts', 'Runs a handler in memory, with faults.'],
  ['leasehold/cdk', 'lib/cdk/index.ts', 'Deploys a job system.'],
  ['leasehold/worker', 'lib/worker/index.ts', 'Runs jobs in your own function or process.'],
  ['leasehold/local', 'lib/tools/dev/index.ts', 'Runs the whole system on one machine.'],
] as const;

interface Exported {
  readonly entry: string;
  readonly name: string;
  readonly file: string;
  /** What its doc comment says. */
  readonly says: string;
  readonly kind: 'call' | 'type' | 'error';
  /** Its declaration with all public members, without bodies of functions. */
  readonly code: string;
}

/** Everything that the package exports, with its doc comment, read from the sources. */
export const publicExports = (): readonly Exported[] => {
  const found = ENTRIES.flatMap(([entry, file]) =>
    exportsOf(join(root, file)).map(({ name, from }) => ({ entry, ...locate(name, from) })),
  );
  const names = new Set(found.map(({ name }) => name));
  return found.map(({ text, kind, ...rest }) => ({
    ...rest,
    kind: kindOf(kind, text),
    code: codeOf(text, kind, { file: join(root, rest.file), names }),
  }));
};

/** The reference: a table of contents, then each entry with its exports. */
export function referencePage(): string {
  const all = publicExports();
  const parts = ENTRIES.map(([entry, , purpose]) => {
    const exported = all.filter((each) => each.entry === entry);
    const first = (each: Exported) => all.find(({ name }) => name === each.name)?.entry === entry;
    const own = exported.filter(first).sort((a, b) => ranked(a) - ranked(b) || a.name.localeCompare(b.name));
    const again = exported.filter((each) => !first(each));
    return { entry, purpose, own, again };
  });
  const contents = parts.map(
    ({ entry, purpose, own }) =>
      `- [${entry}](#${entry.replace('/', '')}): ${purpose} ${own.map(linkTo).join(' · ')}`,
  );
  const sections = parts.map(({ entry, purpose, own, again }) =>
    [
      `## ${entry}`,
      again.length === 0 ? purpose : `${purpose} Also exports ${again.map(linkTo).join(', ')}.`,
      ...own.map(({ name, says, code }) => `### \`${name}\`\n\n${says}\n\n\`\`\`ts\n${code}\n\`\`\``),
    ].join('\n\n'),
  );
  return [contents.join('\n'), ...sections].join('\n\n');
}

const linkTo = ({ name }: Exported): string => `[${name}](#${name.toLowerCase()})`;

const ranked = ({ kind }: Exported): number => ['call', 'type', 'error'].indexOf(kind);

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

interface Located {
  readonly name: string;
  readonly file: string;
  readonly says: string;
  readonly kind: string;
  /** The source from the declaration on. */
  readonly text: string;
}

function locate(name: string, file: string): Located {
  const text = readFileSync(file, 'utf8');
  const found = new RegExp(
    `(?:^/\\*\\*((?:(?!\\*/)[\\s\\S])*?)\\*/\\n)?^(?:export )?((?:abstract |async )*(function|class|const|interface|type) ${name}\\b)`,
    'm',
  ).exec(text);
  if (found === null) {
    const again = exportsOf(file).find((each) => each.name === name && each.from !== file);
    if (again === undefined) throw new Error(`${relative(root, file)} does not declare ${name}`);
    return locate(name, again.from);
  }
  const [, comment = '', , kind = ''] = found;
  const start = found.index + found[0].length - (found[2] ?? '').length;
  return { name, file: relative(root, file), says: saidIn(comment), kind, text: text.slice(start) };
}

const saidIn = (comment: string): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .join('\n')
    .trim();

const isError = (text: string): boolean => /^class \w+ extends (Leasehold)?Error\b/.test(text);

function kindOf(kind: string, text: string): Exported['kind'] {
  if (kind === 'class') return isError(text) ? 'error' : 'call';
  return kind === 'function' || kind === 'const' ? 'call' : 'type';
}

interface Place {
  readonly file: string;
  /** Exported ones have their own place in the reference. */
  readonly names: ReadonlySet<string>;
}

function codeOf(text: string, kind: string, place: Place): string {
  switch (kind) {
    case 'interface':
    case 'class': {
      const { header, members } = withBases(text, place);
      const shown = members.map(({ comment, code }) => `${comment}${code}`).join('\n');
      return shown === '' ? header : `${header} {\n${shown}\n}`;
    }
    case 'function':
      return text.slice(0, text.indexOf(' {\n', closing(text)));
    case 'const':
      return /^const \w+ = (async )?(<[^>]*>)?\(/.test(text)
        ? text.slice(0, text.indexOf(' =>', closing(text)))
        : text.slice(0, text.indexOf(' = '));
    default:
      return text.slice(0, text.search(/;\n(?![^\S\n]|\})/));
  }
}

/** Members of bases that the package does not export are shown with the ones of the declaration. */
function withBases(
  text: string,
  place: Place,
): { readonly header: string; readonly members: readonly Member[] } {
  const [, declared = '', bases = ''] =
    /^((?:abstract )?(?:class|interface) \w+(?:<[\s\S]*?>)?)(?: extends ([\s\S]+?))?(?: implements .+?)? \{(?:\}?\n)/.exec(
      text,
    ) ?? [];
  const own = membersOf(text);
  const kept: string[] = [];
  const inherited: Member[] = [];
  for (const base of bases.split(/, (?![^<]*>)/).filter(Boolean)) {
    const name = /^(?:(?:Partial|Omit)<)*(\w+)/.exec(base)?.[1] ?? '';
    const from = sourceOf(name, place);
    if (from === undefined) kept.push(base);
    else {
      const { text: baseText, file } = locate(name, from);
      const omitted = /Omit<\w+, '(\w+)'>/.exec(base)?.[1];
      const { header, members } = withBases(baseText, { ...place, file: join(root, file) });
      const [, above] = / extends (.+)$/.exec(header) ?? [];
      if (above !== undefined) kept.push(above);
      inherited.push(
        ...members
          .filter((member) => member.name !== omitted && !member.code.includes('abstract '))
          .map((member) =>
            base.startsWith('Partial<')
              ? { ...member, code: member.code.replace(/^( {2}readonly \w+):/, '$1?:') }
              : member,
          ),
      );
    }
  }
  const isOverride = ({ code, name }: Member) =>
    code.includes('override ') && inherited.some((member) => member.name === name);
  const members = [...own.filter((member) => !isOverride(member)), ...inherited].map((member) => ({
    ...member,
    code: member.code.replace('override ', ''),
  }));
  return { header: kept.length === 0 ? declared : `${declared} extends ${kept.join(', ')}`, members };
}

/** The file of a base whose members belong into the reference: ours, not exported, and not a port of the protocol. */
function sourceOf(name: string, { file, names }: Place): string | undefined {
  if (names.has(name)) return undefined;
  const text = readFileSync(file, 'utf8');
  if (new RegExp(`^(export )?(abstract )?(class|interface) ${name}\\b`, 'm').test(text)) return file;
  const isOurs = new RegExp(`^import [^;]*\\b${name}\\b[^;]* from '\\.`, 'm').test(text);
  const from = isOurs ? importedFrom(text, name, file) : undefined;
  return from?.includes('/protocol/') || from?.endsWith('/worker-parts.ts') ? undefined : from;
}

interface Member {
  readonly name: string;
  readonly comment: string;
  readonly code: string;
}

/** The public members of a class or interface, as declarations. */
function membersOf(text: string): readonly Member[] {
  const body = /^[\s\S]*?\{\}?\n([\s\S]*?)^\}/m.exec(`${text}\n`)?.[1] ?? '';
  if (/^[^\n]*\{\}\n/.test(text)) return [];
  const members = body.matchAll(
    /((?:^ {2}\/\*\*(?:(?!\*\/)[\s\S])*?\*\/\n)?)(^ {2}[\w#[].*(?:\n(?! {2}[\w#[/]).*)*)/gm,
  );
  return [...codeMember(text), ...members].flatMap(([, comment = '', source = '']) => {
    const code = declared(source.trimEnd());
    const [, name = ''] = /^ {2}(?:(?:readonly|override|abstract|get|async) )*(\w+)/.exec(code) ?? [];
    const isHidden =
      comment.includes('@internal') ||
      /^ {2}(?:(readonly |override )*#|static |private |get \[)/.test(source) ||
      (name === 'constructor' && isError(text) && !THROWN_BY_USERS.test(text));
    return isHidden ? [] : [{ name, comment, code }];
  });
}

const THROWN_BY_USERS = /^class (NonRetryableError|RetryAfter) /;

/** As an error's instances have it. */
function codeMember(text: string): readonly (readonly string[])[] {
  const own = text.slice(0, text.indexOf('\n}'));
  const [, code] =
    /static override readonly code = '(\w+)'|super\(\s*'(\w+)'/.exec(own)?.filter(Boolean) ?? [];
  return code === undefined ? [] : [['', '', `  readonly code: '${code}';`]];
}

/** A member without its body or value. */
function declared(source: string): string {
  const isMethod = /^ {2}(?:(?:override|abstract|get|async) )*\w+(?:<[^(]*>)?\(/.test(source);
  if (!isMethod) return source.replace(/ = [\s\S]*;$/, ';');
  const end = source.indexOf(' {\n', closing(source));
  return end < 0 ? source : `${source.slice(0, end)};`.replace('async ', '');
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
