import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createClockGuard } from '../../../lib/protocol/clock-guard.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { createClockCheck } from '../../../lib/worker/intake/clock-check.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { claimSent } from '../../support/claims.ts';

const HOUR = 3_600_000;

/** An idle worker whose clock was compared with the store's and is right. */
async function idleWorker() {
  const stack = createTestStack();
  const { clock, settings } = stack;
  const telemetry = createKeptTelemetry();
  const guard = createClockGuard({ skewMs: settings.skewMs, clock });
  /** How far the store's clock is behind this machine's. */
  const store = { isReachable: true, behindMs: 0 };
  const askTheTime = async () => {
    if (!store.isReachable) throw new Error('unreachable');
    const date = new Date(clock.now() - store.behindMs).toUTCString();
    guard.observe({ tookMs: 0, receivedAt: clock.now(), date });
  };
  const clockCheck = createClockCheck({ guard, clock, telemetry, askTheTime });
  expect(await clockCheck.isSound()).toBe(true);
  const worker = stack.worker(
    createRegistry([defineJob({ type: 'any', payload: z.unknown(), run: () => {} })]),
  );
  const engine = createEngine({ ...worker, telemetry, clockCheck });
  const claim = async () => {
    const [claimed] = await claimSent(stack, engine, jobBody('any', {}, { jobId: 'a' }));
    return claimed?.kind;
  };
  return { clock, store, claim, clockCheck, telemetry, row: () => stack.store.read('a') };
}

describe('an idle worker whose clock steps', () => {
  it.each([HOUR, -HOUR])('claims nothing by it (%i ms)', async (stepMs) => {
    const { clock, store, claim, row } = await idleWorker();
    clock.set(clock.now() + stepMs);
    store.behindMs = stepMs;
    expect(await claim()).toBe('returned');
    expect(await row()).toBeUndefined();
  });

  it('warns once a minute while the store does not answer, with the reason', async () => {
    const { clock, store, clockCheck, telemetry } = await idleWorker();
    clock.set(clock.now() + HOUR);
    store.isReachable = false;
    for (let ms = 0; ms <= 60_000; ms += 250) {
      expect(await clockCheck.isSound()).toBe(false);
      await clock.advance(250);
    }
    expect(telemetry.lines).toMatchObject([
      { level: 'warn', fields: { reason: 'unreachable' } },
      { level: 'warn', fields: { reason: 'unreachable' } },
    ]);
  });

  it('claims after a comparison that finds it right: it was wrong before, or the machine was suspended', async () => {
    const { clock, claim } = await idleWorker();
    clock.set(clock.now() + HOUR);
    expect(await claim()).toBe('claimed');
  });
});
