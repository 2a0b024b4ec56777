import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { openMessage } from '../../../lib/worker/intake/open-message.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { createCrashThrottle } from '../../../lib/worker/run/crash-throttle.ts';

const stage = () => {
  const clock = createFakeClock();
  const telemetry = createKeptTelemetry();
  return { clock, telemetry, crashThrottle: createCrashThrottle(clock, telemetry) };
};
const jobs = (...names: readonly string[]) =>
  names.map((jobId) => ({ jobId, type: jobId.split('-')[0] ?? '' }));

describe('the crash throttle', () => {
  it('holds a type whose third different job dies with no success in between, and no other type', () => {
    const { crashThrottle, telemetry } = stage();
    for (const job of jobs('a-1', 'a-2')) crashThrottle.recordCrash(job);
    expect(crashThrottle.typePausedMs('a')).toBe(0);
    for (const job of jobs('a-3')) crashThrottle.recordCrash(job);
    expect(crashThrottle.typePausedMs('a')).toBeGreaterThan(0);
    expect(crashThrottle.typePausedMs('b')).toBe(0);
    expect(crashThrottle.hostPausedMs()).toBe(0);
    expect(telemetry.total('CrashThrottleOn')).toBe(1);
  });

  it('is let go by a success of the type', () => {
    const { crashThrottle } = stage();
    for (const job of jobs('a-1', 'a-2')) crashThrottle.recordCrash(job);
    crashThrottle.recordSuccess('a');
    for (const job of jobs('a-3', 'a-4')) crashThrottle.recordCrash(job);
    expect(crashThrottle.typePausedMs('a')).toBe(0);
  });

  it('holds for five seconds at first, and for five minutes at most', async () => {
    const { crashThrottle, clock } = stage();
    for (const job of jobs('a-1', 'a-2', 'a-3')) crashThrottle.recordCrash(job);
    expect(crashThrottle.typePausedMs('a')).toBe(5000);
    await clock.advance(1000);
    expect(crashThrottle.typePausedMs('a')).toBe(4000);
    await clock.advance(9000);
    expect(crashThrottle.typePausedMs('a')).toBe(0);
    for (let n = 0; n < 9; n++) crashThrottle.recordCrash({ jobId: `a-${n}`, type: 'a' });
    expect(crashThrottle.typePausedMs('a')).toBe(300_000);
  });

  it('of the host counts jobs of any type until one ends as it should', async () => {
    const { crashThrottle, clock } = stage();
    for (const job of jobs('a-1', 'b-1')) crashThrottle.recordCrash(job);
    crashThrottle.recordSuccess('z');
    for (const job of jobs('a-2', 'b-2')) crashThrottle.recordCrash(job);
    expect(crashThrottle.hostPausedMs()).toBe(0);
    for (const job of jobs('c-1')) crashThrottle.recordCrash(job);
    expect(crashThrottle.hostPausedMs()).toBe(5000);
    await clock.advance(1000);
    expect(crashThrottle.hostPausedMs()).toBe(4000);
    crashThrottle.recordSuccess('z');
    expect(crashThrottle.hostPausedMs()).toBe(0);
  });
});

describe('a message of a type that is held', () => {
  it('is no dead letter within five minutes, though it visits one holding host after the other', async () => {
    const { worker, settings } = createTestStack();
    const crashThrottle = {
      ...createCrashThrottle(createFakeClock(), createKeptTelemetry()),
      typePausedMs: () => 5000,
    };
    const message = { messageId: 'm', receiptHandle: 'm', sentAt: 0, body: jobBody('a', {}) };
    let seconds = 0;
    for (let receiveCount = 1; receiveCount < settings.maxReceiveCount; receiveCount++) {
      const opened = await openMessage(
        { ...worker(createRegistry([defineJob({ type: 'a', run: () => {} })])), crashThrottle },
        { ...message, receiveCount },
      );
      if (opened.kind !== 'returned') throw new Error(opened.kind);
      seconds += opened.delaySeconds;
    }
    expect(seconds).toBeGreaterThan(300);
  });
});
