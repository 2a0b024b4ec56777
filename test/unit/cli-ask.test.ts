import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { ask } from '../../lib/tools/cli/terminal/ask.ts';

it.each([
  ['y\n', true],
  ['Yes \n', true],
  ['n\n', false],
  ['\n', false],
  ['yesterday\n', false],
  ['', false],
])('takes %j as %j', async (typed, answer) => {
  const output = new PassThrough();
  const input = new PassThrough();
  input.end(typed);
  expect(await ask('Cancel 3 jobs?', input, output)).toBe(answer);
  output.end();
  expect(await text(output)).toMatch(/^Cancel 3 jobs\? \[y\/N\] /);
});

it('takes Ctrl-C as a no', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const answered = ask('Cancel 3 jobs?', input, output);
  input.write('\u0003');
  expect(await answered).toBe(false);
});
