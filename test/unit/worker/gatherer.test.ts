import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createGatherer } from '../../../lib/worker/gatherer.ts';

const WINDOW_MS = 10;

/** A gatherer of letters, in batches of three. Replies come when the test says so. */
function stage(over: { readonly room?: () => number; readonly waitMs?: (ageMs: number) => number } = {}) {
  const clock = createFakeClock();
  const waiting: string[] = [];
  const sent: string[] = [];
  const replies: (() => void)[] = [];
  const gatherer = createGatherer({
    clock,
    full: 3,
    ready: () => Math.min(waiting.length, over.room?.() ?? waiting.length),
    waitMs: over.waitMs ?? ((ageMs) => WINDOW_MS - ageMs),
    send: (count) => {
      sent.push(waiting.splice(0, count).join(''));
      const { promise, resolve } = Promise.withResolvers<void>();
      replies.push(resolve);
      return promise;
    },
  });
  const add = (letters: string) => {
    waiting.push(...letters);
    gatherer.look();
  };
  const reply = async () => {
    for (const each of replies.splice(0)) each();
    await clock.advance(0);
  };
  return { clock, gatherer, sent, add, reply };
}

describe('a gatherer', () => {
  it('sends together what comes until the first has waited for the whole window', async () => {
    const { clock, sent, add } = stage();
    add('a');
    await clock.advance(WINDOW_MS - 1);
    add('b');
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toEqual(['ab']);
    add('c');
    await clock.advance(WINDOW_MS - 1);
    expect(sent).toEqual(['ab']);
    await clock.advance(1);
    expect(sent).toEqual(['ab', 'c']);
  });

  it('settles once all is sent and every reply has come', async () => {
    const { gatherer, sent, add, reply } = stage();
    add('abcd');
    let isSettled = false;
    const settling = gatherer.settle().then(() => {
      isSettled = true;
    });
    await Promise.resolve();
    expect([sent, isSettled]).toEqual([['abc', 'd'], false]);
    await reply();
    await settling;
    expect(gatherer.underWay()).toBe(0);
  });
});
