import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** docs/glossary.md says which word stands for what; these are the words that it replaced. */
interface Word {
  readonly word: string;
  readonly found: RegExp;
  readonly instead: string;
  /** Where the word means something else, or must stay. The glossary may name every word. */
  readonly allowed?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '..', '..');
const files = globSync(
  [
    'lib/**/*.{ts,tsx,css}',
    'functions/**/*.ts',
    'bin/**/*.ts',
    'examples/**/*.{ts,md}',
    'docs/**/*.md',
    '*.md',
  ],
  // The reference is written from the sources, which are here themselves.
  { cwd: root, exclude: ['**/node_modules/**', 'docs/reference.md'] },
);
const GLOSSARY = 'docs/glossary.md';

const A = String.raw`\b(?:an?|the|its|his|their|each|every|one|first|second|last|next|another|this|that|whose) `;

const words: readonly Word[] = [
  {
    word: 'hand back',
    found:
      /\bhand(?:s|ed|ing)?[- ]?back|\bhand(?:s|ed|ing)? (?:it|them|itself|the rest|those|a job|the job) back\b/i,
    instead: 'release (a claim), return (a message)',
  },
  {
    word: 'put back',
    found: /\bput(?:s|ting)?Back|\bputs? (?:it|them|jobs|messages) back\b/i,
    instead: 'release (a claim), return (a message)',
  },
  {
    word: 'give back',
    found: /\bgiv(?:e|es|en|ing)[- ]?back|\bgiv(?:e|es|en|ing) (?:it|them|a job|the job) back\b/i,
    instead: 'release (a claim), return (a message)',
  },
  { word: 'bury', found: /\bbur(?:y|ies|ied|ying)/i, instead: 'fail' },
  { word: 'rescue', found: /\brescu/i, instead: 'reclaim' },
  {
    word: 'sandbox',
    found: /sandbox/i,
    instead: 'cell, worker process, or execution environment',
    allowed: { 'lib/tools/dev/': 'Lambda’s', 'docs/guides/local.md': 'Lambda’s' },
  },
  {
    word: 'lock',
    found: new RegExp(String.raw`${A}lock\b|\blocks\b|\block(?:Owner|Until|Ms|Id)`, 'i'),
    instead: 'lease, claim',
    allowed: {
      'docs/operating/performance.md': 'other systems’ locks',
    },
  },
];

const isAllowed = (file: string, { allowed = {} }: Word) =>
  file === GLOSSARY || Object.keys(allowed).some((place) => file.startsWith(place));

describe('the words of the glossary', () => {
  it.each(words)('“$word” is not used', (word) => {
    const uses = files
      .filter((file) => !isAllowed(file, word))
      .flatMap((file) =>
        readFileSync(join(root, file), 'utf8')
          .split('\n')
          .flatMap((line, at) => (word.found.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
      );
    expect(uses, `say: ${word.instead}`).toEqual([]);
  });

  it.each(words.filter(({ allowed }) => allowed))(
    '“$word” stands where it is allowed',
    ({ found, allowed = {} }) => {
      const idle = Object.keys(allowed).filter(
        (place) =>
          !files.some((file) => file.startsWith(place) && found.test(readFileSync(join(root, file), 'utf8'))),
      );
      expect(idle).toEqual([]);
    },
  );
});
