import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createShow } from '../../lib/tools/dev/demo/show.ts';

const scene = { ended: 0, sent: 9, steps: 0, stepsOf: 9, crashes: 0, crashesOf: 3 };

/** What a terminal was sent. */
const terminal = () => {
  let text = '';
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80, cursorTo: () => {} });
  stream.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  return { output: stream as unknown as NodeJS.WriteStream, shown: () => text };
};

it('says a line at once on a terminal without bars', () => {
  const { output, shown } = terminal();
  createShow(output).say('a job is done');
  expect(shown()).toMatch(/ 0\.\d s.* {2}a job is done\n$/);
});

it('says a line at once after the bars are gone', () => {
  const { output, shown } = terminal();
  const show = createShow(output);
  show.scene(scene);
  show.endBars();
  show.say('a job is done');
  expect(shown()).toMatch(/a job is done\n$/);
});
