import { describe, expect, it } from 'vitest';
import { createClockGuard } from '../../../lib/protocol/clock-guard.ts';
import {
  NonRetryableError,
  QueueUnavailableError,
  StoreUnavailableError,
  ThrottledError,
  TooLargeError,
} from '../../../lib/protocol/errors.ts';
import { cutToBytes, toJsonText } from '../../../lib/protocol/rows/json-text.ts';
import { allShards, pendingShard, runningShard, shardOf } from '../../../lib/protocol/shards.ts';
import { recoveryBound } from '../../../lib/settings/recovery-bound.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';

describe('the clock guard', () => {
  const date = 'Sun, 31 Jan 2027 09:00:00 GMT';
  const server = Date.parse(date);
  const guard = () => createClockGuard({ skewMs: 2_000 });
  const reply = (ahead: number, trip = 100, moment = 0) => ({
    sentAt: server + 500 + ahead - trip / 2,
    receivedAt: server + 500 + ahead + trip / 2,
    date: new Date(server + moment).toUTCString(),
  });

  it('is sound before it knows anything', () => {
    expect(guard().isSound()).toBe(true);
    expect(guard().offset()).toBeUndefined();
  });

  it('measures from the middle of the round trip to the middle of the second', () => {
    const clock = guard();
    clock.observe(reply(250));
    expect(clock.offset()).toEqual({ offsetMs: 250, uncertaintyMs: 550, measuredAt: server + 800 });
  });

  it.each([1, -1])('trips one tick beyond what skew and uncertainty excuse (direction %i)', (sign) => {
    const clock = guard();
    clock.observe(reply(sign * 1_550));
    expect(clock.isSound()).toBe(true);
    const other = guard();
    other.observe(reply(sign * 1_551));
    expect(other.isSound()).toBe(false);
  });

  it('recovers with the first reply that contradicts what it knew', () => {
    const clock = guard();
    clock.observe(reply(60_000));
    expect(clock.isSound()).toBe(false);
    clock.observe(reply(0, 300));
    expect(clock.isSound()).toBe(true);
    clock.observe(reply(-60_000, 300));
    expect(clock.isSound()).toBe(false);
  });

  it('keeps the more certain of two replies that agree, until it is old', () => {
    const clock = guard();
    clock.observe(reply(100, 20));
    clock.observe(reply(300, 1_000));
    expect(clock.offset()?.offsetMs).toBe(100);
    clock.observe(reply(200, 20));
    expect(clock.offset()?.offsetMs).toBe(200);
    const later = { ...reply(300, 1_000, 40_000) };
    clock.observe({ ...later, sentAt: later.sentAt + 40_000, receivedAt: later.receivedAt + 40_000 });
    expect(clock.offset()?.offsetMs).toBe(300);
  });

  it('ignores a date that is none, and a reply that came before it was asked for', () => {
    const clock = guard();
    clock.observe({ sentAt: 1, receivedAt: 2, date: 'yesterday' });
    expect(clock.offset()).toBeUndefined();
    clock.observe({ sentAt: server + 500, receivedAt: server, date });
    expect(clock.offset()).toMatchObject({ offsetMs: 0, uncertaintyMs: 500 });
  });
});

describe('the longest time to recovery', () => {
  const bound = (given: Record<string, unknown>) => recoveryBound(resolveSettings(given));

  it('is the lease, the skew and one sweep where a reaper always watches', () => {
    expect(bound({ watch: 'always', watchMs: 120_000 })).toEqual({ watchedMs: 33_000, worstMs: 33_000 });
  });

  it('grows by the time between the end of one watch and a tick that comes as late as it may', () => {
    expect(bound({ watch: 'always' })).toEqual({ watchedMs: 33_000, worstMs: 43_000 });
  });

  it('is the next tick where the reaper had gone home', () => {
    expect(bound({ watch: 'whileBusy' })).toEqual({ watchedMs: 33_000, worstMs: 120_500 });
    expect(bound({ watch: 'whileBusy', leaseMs: 600_000 })).toEqual({ watchedMs: 603_000, worstMs: 613_000 });
  });

  it('adds lease and tick where no reaper watches', () => {
    expect(bound({ watch: 'never', graceMs: 1_000 })).toEqual({ watchedMs: undefined, worstMs: 153_500 });
  });
});

describe('shards', () => {
  it('keep their place between versions', () => {
    expect(['a', 'order-1', 'order-2'].map((id) => shardOf(id, 8))).toEqual([4, 5, 4]);
    expect([runningShard('a', 8), pendingShard('a', 8)]).toEqual(['r4', 'q4']);
  });

  it('are all read, the running ones first', () => {
    expect(allShards(2)).toEqual({ running: ['r0', 'r1'], pending: ['q0', 'q1'] });
  });

  it('share ids out evenly', () => {
    const counts = new Map<number, number>();
    for (let i = 0; i < 8_000; i++) {
      const shard = shardOf(`job-${i}`, 8);
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(counts.size).toBe(8);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(200);
  });
});

describe('JSON text', () => {
  it('is kept up to its limit in bytes, not characters', () => {
    expect(toJsonText('result', 'äö', 6)).toBe('"äö"');
    expect(() => toJsonText('result', 'äöx', 6)).toThrow(TooLargeError);
    expect(() => toJsonText('result', 'äöx', 6)).toThrow(
      'the result has 7 bytes; at most 6 are kept. Put the data into S3',
    );
  });

  it.each([
    ['a function', () => 1],
    [
      'a cycle',
      (() => {
        const a: Record<string, unknown> = {};
        a.a = a;
        return a;
      })(),
    ],
    ['a BigInt', 10n],
  ])('is refused for %s', (_, value) => {
    expect(() => toJsonText('result', value as never, 100)).toThrow(
      expect.objectContaining({ code: 'NOT_JSON', cause: expect.any(TypeError) }),
    );
  });
});

describe('a text cut to bytes', () => {
  it('is left alone up to the limit', () => {
    expect(cutToBytes('x'.repeat(20), 20)).toBe('x'.repeat(20));
  });

  it.each(['x', 'ä', '€', '😀'])('is cut between characters and says so: %s', (character) => {
    for (let limit = 20; limit < 30; limit++) {
      const cut = cutToBytes(character.repeat(100), limit);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
      expect(cut.replaceAll(character, '')).toBe('… (cut)');
    }
  });

  it('never carries half a surrogate pair, which DynamoDB could not keep', () => {
    expect(cutToBytes('a\ud800b', 20)).toBe('a\ufffdb');
  });
});

describe('errors', () => {
  it('carry a stable code, their class’s name and the cause', () => {
    const cause = new Error('refused');
    const errors = [
      new ThrottledError('claim', cause),
      new StoreUnavailableError('claim', cause),
      new QueueUnavailableError('SendMessageBatch', cause),
      new NonRetryableError('bad input', { cause }),
    ];
    expect(errors.map(({ name, code }) => `${name} ${code}`)).toEqual([
      'ThrottledError THROTTLED',
      'StoreUnavailableError STORE_UNAVAILABLE',
      'QueueUnavailableError QUEUE_UNAVAILABLE',
      'NonRetryableError NON_RETRYABLE',
    ]);
    for (const error of errors) expect(error.cause).toBe(cause);
  });

  it('show a cause that is no error, too', () => {
    expect(new StoreUnavailableError('claim', 'gone').message).toContain(
      "DynamoDB did not answer 'claim' (gone)",
    );
    expect(new QueueUnavailableError('send', 'gone').message).toContain("SQS did not answer 'send' (gone)");
  });
});
