import { describe, expect, it } from 'vitest';
import { createEventOutlet } from '../../../lib/protocol/event-outlet.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import type { LeaseholdEvent } from '../../../lib/wire/events.ts';

/** The bus answers when the test says so; each request and each word to the log is kept. */
function stage() {
  const clock = createFakeClock();
  const requests: { readonly ids: readonly string[]; answer(error?: Error): void }[] = [];
  const log: unknown[] = [];
  const outlet = createEventOutlet({
    clock,
    telemetry: {
      error: (message, error, fields) => log.push([message, error, fields]),
      warn: (message, fields) => log.push([message, fields]),
    },
    events: {
      publish: (events) =>
        new Promise((resolve, reject) => {
          requests.push({
            ids: events.map(({ detail }) => String('jobId' in detail && detail.jobId)),
            answer: (error) => (error === undefined ? resolve() : reject(error)),
          });
        }),
    },
  });
  /** Answers the oldest request that has no answer yet, and lets the outlet go on. */
  let answered = 0;
  const answer = async (error?: Error) => {
    requests[answered++]?.answer(error);
    await clock.advance(0);
  };
  const sizes = () => requests.map(({ ids }) => ids.length);
  return { clock, outlet, requests, log, answer, sizes };
}

const events = (count: number, from = 0): LeaseholdEvent[] =>
  Array.from(
    { length: count },
    (_, i) => ({ name: 'JobStarted', detail: { jobId: `j${from + i}` } }) as unknown as LeaseholdEvent,
  );
const tooSlow = (count: number) => ['events not published', { count, reason: 'the bus is too slow' }];

describe('the outlet of events', () => {
  it('publishes a hundred at a time, in order, the next when the last is through', async () => {
    const { outlet, requests, answer, sizes } = stage();
    outlet.publish(events(150));
    outlet.publish(events(60, 150));
    expect(sizes()).toEqual([100]);
    await answer();
    expect(sizes()).toEqual([100, 100]);
    await answer();
    await answer();
    expect(sizes()).toEqual([100, 100, 10]);
    expect(requests.flatMap(({ ids }) => ids)).toEqual(Array.from({ length: 210 }, (_, i) => `j${i}`));
  });

  it('reports a failed request, and continues with the next', async () => {
    const { clock, outlet, log, answer, sizes } = stage();
    outlet.publish(events(101));
    const error = new Error('no bus');
    await answer(error);
    expect(log).toEqual([['events not published', error, { count: 100 }]]);
    expect(sizes()).toEqual([100, 1]);
    await answer();
    await outlet.settle();
    expect(log).toHaveLength(1);
    expect(clock.sleepers).toBe(0);
  });

  it('settles after three seconds, and reports the number of lost events once', async () => {
    const { clock, outlet, log, answer, sizes } = stage();
    outlet.publish(events(250));
    const settled = outlet.settle();
    await clock.advance(2_999);
    expect(log).toEqual([]);
    await clock.advance(1);
    await settled;
    expect(log).toEqual([tooSlow(150)]);
    await answer();
    expect(sizes()).toEqual([100]);
    await outlet.settle();
    expect(log).toHaveLength(1);
  });

  it('keeps ten thousand events waiting, and counts those beyond', async () => {
    const { clock, outlet, log } = stage();
    const settled = async () => {
      const settling = outlet.settle();
      await clock.advance(3_000);
      await settling;
    };
    outlet.publish(events(1));
    outlet.publish(events(9_999));
    outlet.publish(events(2));
    outlet.publish(events(5));
    await settled();
    // One waits for its answer, 10,000 for their turn, and 6 found no room.
    expect(log).toEqual([tooSlow(10_006)]);
    outlet.publish(events(3));
    await settled();
    expect(log.at(-1)).toEqual(tooSlow(3));
  });
});
