import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messageLimits } from '../../lib/settings/message-limits.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { defined } from '../../lib/wire/defined.ts';
import { jobBody, type ParsedMessage, parseMessage, type SendOptions } from '../../lib/wire/message.ts';
import { fuzzRuns } from '../support/fuzz-runs.ts';
import { memoryStore } from '../support/memory-store.ts';

const limits = messageLimits(defaultSettings);
const NOW = 1_800_000_000_000;
const times = { sentAt: NOW - 1000, now: NOW };
const read = (body: string): ParsedMessage => parseMessage(body, limits, times);

const name = (maxLength: number) =>
  fc.stringMatching(new RegExp(`^[A-Za-z0-9._-]{1,${maxLength}}$`)).filter((text) => text !== '__proto__');
const whole = (min: number, max: number) => fc.integer({ min, max });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** Everything that a producer may rightly ask for. */
const goodOptions: fc.Arbitrary<SendOptions> = fc
  .record({
    jobId: optional(name(200)),
    leaseMs: optional(whole(limits.minLeaseMs, limits.maxLeaseMs)),
    maxAttempts: optional(whole(1, limits.maxAttempts)),
    maxCrashes: optional(whole(1, limits.maxAttempts)),
    when: fc.oneof(
      fc.constant({}),
      fc.record({ delayMs: whole(0, 2 ** 31) }),
      fc.record({ notBefore: whole(0, NOW + 2 ** 31) }),
      fc.record({
        notBefore: fc
          .date({ min: new Date(0), max: new Date(NOW), noInvalidDate: true })
          .map((date) => date.toISOString()),
      }),
    ),
  })
  .map(({ when, ...options }) => JSON.parse(JSON.stringify({ ...options, ...when })) as SendOptions);

/** A value that nobody expects in that place. */
const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(-1, 0, 0.5, 2 ** 53, 1e308, -0, '', ' ', '1', 'null', '\u0000', '__proto__', [], {}),
  fc.string({ unit: 'binary' }),
);

describe('whatever a producer sends', () => {
  it('is read back as it was meant, if it was built by the rules', () => {
    fc.assert(
      fc.property(name(100), fc.jsonValue(), goodOptions, (type, payload, options) => {
        const parsed = read(jobBody(type, payload, options));
        if (!parsed.ok || parsed.message.kind !== 'job') throw new Error(JSON.stringify(parsed));
        const { message } = parsed;
        expect(message.type).toBe(type);
        expect(JSON.parse(message.payload)).toEqual(JSON.parse(JSON.stringify(payload ?? null)));
        for (const key of ['jobId', 'leaseMs', 'maxAttempts', 'maxCrashes'] as const)
          expect(message[key]).toBe(options[key]);
      }),
      fuzzRuns(500),
    );
  });

  it('is never accepted beyond the limits, and never throws, with one field gone odd', () => {
    const field = fc.constantFrom(
      ...['jobId', 'type', 'notBefore', 'delayMs', 'leaseMs', 'maxAttempts', 'maxCrashes', 'hint', 'payload'],
    );
    fc.assert(
      fc.property(name(100), goodOptions, field, odd, (type, options, key, value) => {
        const parsed = read(JSON.stringify({ type, payload: 1, ...options, [key]: value }));
        if (!parsed.ok) expect(parsed.reason.length).toBeGreaterThan(10);
        else expectWithinLimits(parsed);
      }),
      fuzzRuns(2000),
    );
  });

  it('is never accepted beyond the limits, and never throws, with some of its bytes changed', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(name(20), goodOptions, changes, (type, options, bytes) => {
        const body = Buffer.from(jobBody(type, { x: 1 }, options));
        for (const [at, byte] of bytes) body[at % body.length] = byte;
        const parsed = read(body.toString());
        if (parsed.ok) expectWithinLimits(parsed);
      }),
      fuzzRuns(2000),
    );
  });

  it('leaves a row that can be read again, if it is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(name(100), fc.jsonValue(), goodOptions, async (type, payload, options) => {
        const parsed = read(jobBody(type, payload, options));
        if (!parsed.ok || parsed.message.kind !== 'job') throw new Error(JSON.stringify(parsed));
        const { kind: _, notBefore: __, ...message } = parsed.message;
        const { store } = memoryStore({ settings: defaultSettings });
        const job = { leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3, jobId: 'made-up', ...defined(message) };
        const claim = await store.claim({ job, owner: 'w/1' });
        expect(claim.outcome).toBe('claimed');
        expect(await store.read(job.jobId)).toMatchObject({ ...job, status: 'running', attempt: 1 });
      }),
      fuzzRuns(200),
    );
  });
});

function expectWithinLimits(parsed: ParsedMessage & { ok: true }): void {
  const { message } = parsed;
  if (message.jobId !== undefined) expect(message.jobId).toMatch(/^[A-Za-z0-9._-]{1,200}$/);
  if (message.kind === 'hint') return;
  expect(message.type).toMatch(/^[A-Za-z0-9._-]{1,100}$/);
  expect(Buffer.byteLength(message.payload)).toBeLessThanOrEqual(limits.maxPayloadBytes);
  JSON.parse(message.payload);
  const ranges = {
    leaseMs: [limits.minLeaseMs, limits.maxLeaseMs],
    maxAttempts: [1, limits.maxAttempts],
    maxCrashes: [1, limits.maxAttempts],
    notBefore: [0, NOW + limits.maxDelayMs],
  } as const;
  for (const [key, [lowest, highest]] of Object.entries(ranges)) {
    const value = message[key as keyof typeof ranges];
    if (value === undefined) continue;
    expect(Number.isSafeInteger(value)).toBe(true);
    expect(value).toBeGreaterThanOrEqual(lowest);
    expect(value).toBeLessThanOrEqual(highest);
  }
}
