import { closeSync, fstatSync, writeSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { createLastWords, readLastWords, WORDS_BYTES } from '../../../../lib/worker/cells/last-words.ts';
import { openUnnamedFile } from '../../../../lib/worker/cells/unnamed-file.ts';

const opened: number[] = [];
const stage = () => {
  const descriptor = openUnnamedFile(WORDS_BYTES);
  opened.push(descriptor);
  return { descriptor, words: createLastWords(descriptor), read: () => readLastWords(descriptor) };
};
afterEach(() => opened.splice(0).forEach(closeSync));

it('keeps the first words of a cell', () => {
  const { words, read } = stage();
  expect(read()).toBeUndefined();
  words.say({ origin: 'grüße' });
  words.say({ origin: 'something else' });
  expect(read()).toMatchObject({ origin: 'grüße' });
});

it('keeps words that follow on others which were taken back', () => {
  const { words, read } = stage();
  words.say({ origin: 'a longer exception' });
  words.takeBack();
  expect(read()).toBeUndefined();
  words.say({ origin: 'exit' });
  expect(read()).toMatchObject({ origin: 'exit' });
});

it('takes no more room than the file has from its start, and reads nothing from words that were cut', () => {
  const { words, read, descriptor } = stage();
  words.say({ error: 'x'.repeat(10_000) });
  expect([read(), fstatSync(descriptor).size]).toEqual([undefined, WORDS_BYTES]);
});

it.each(['null', '7', '"boom"', '{"error":7,"origin":8,"survived":9}'])('reads nothing from %s', (text) => {
  const { descriptor, read } = stage();
  writeSync(descriptor, text, 0);
  expect(Object.values(read() ?? {}).filter((each) => each !== undefined)).toEqual([]);
});

it('reads why V8 gave up from its report', () => {
  const { descriptor, read } = stage();
  writeSync(descriptor, '{"header":{"reportVersion":5,"event":"Allocation failed","trigger":"FatalError"', 0);
  expect(read()).toEqual({ origin: 'fatal', fatal: 'Allocation failed' });
});
