import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hintBody, jobBody, parseMessage } from '../../../lib/wire/message.ts';

/** Hundreds of random runs may take a while on a busy machine. */
const RANDOM_RUNS_MS = 60_000;

const limits = {
  minLeaseMs: 10_000,
  maxLeaseMs: 3_600_000,
  maxAttempts: 25,
  maxDelayMs: 1_000_000,
  maxPayloadBytes: 1024,
};
const now = Date.parse('2027-01-31T09:00:00Z');
const times = { sentAt: now - 500, now };
const parse = (body: string) => parseMessage(body, limits, times);
const parseFields = (fields: unknown) => parse(JSON.stringify(fields));
const reason = (body: string) => {
  const parsed = parse(body);
  return parsed.ok ? 'accepted' : parsed.reason;
};
const reasonOf = (fields: unknown) => reason(JSON.stringify(fields));

describe('a job message', () => {
  it('needs only a type', () => {
    expect(parse('{"type":"report"}')).toEqual({
      ok: true,
      message: { kind: 'job', type: 'report', payload: 'null' },
    });
  });

  it('counts a delay from the moment of sending, not of reading', () => {
    expect(parseFields({ type: 't', delayMs: 700 })).toMatchObject({ message: { notBefore: now + 200 } });
  });

  it('takes an instant with its zone', () => {
    for (const notBefore of ['2027-01-31T09:10:00Z', '2027-01-31T10:10:00.000+01:00', '2027-01-31T09:10Z'])
      expect(parseFields({ type: 't', notBefore })).toMatchObject({ message: { notBefore: now + 600_000 } });
  });

  it('is what the builder writes', () => {
    const body = jobBody('report', { n: 1 }, { jobId: 'j1', delayMs: 500 });
    expect(parse(body)).toEqual({
      ok: true,
      message: { kind: 'job', type: 'report', payload: '{"n":1}', jobId: 'j1', notBefore: now },
    });
    expect(parse(jobBody('report', undefined))).toMatchObject({ message: { payload: 'null' } });
  });
});

describe('a message that cannot be run says what is wrong, what was got, what is allowed and what to do', () => {
  it.each([
    ['', 'is not JSON', "send a JSON object with a 'type' and a 'payload'"],
    ['{"type":', 'is not JSON', 'send a JSON object'],
    ['null', 'is null', "must be a JSON object with a 'type' and a 'payload'"],
    ['[1]', 'is [1]', 'must be a JSON object'],
    ['"hello"', "is 'hello'", 'must be a JSON object'],
    ['12', 'is 12', 'must be a JSON object'],
  ])('body %j', (body, got, allowed) => {
    expect(reason(body)).toContain(got);
    expect(reason(body)).toContain(allowed);
  });

  it.each([
    [{}, "'type' is undefined", '1 to 100 characters of A-Z a-z 0-9 . _ -'],
    [{ type: '' }, "'type' is ''", '1 to 100 characters'],
    [{ type: 'a b' }, "'type' is 'a b'", '1 to 100 characters'],
    [{ type: 'a'.repeat(101) }, '103 characters', '1 to 100 characters'],
    [{ type: 't', jobId: '' }, "'jobId' is ''", '1 to 200 characters'],
    [{ type: 't', jobId: null }, "'jobId' is null", 'or left out'],
    [{ type: 't', jobId: 'leader:reaper' }, "'jobId' is 'leader:reaper'", 'A-Z a-z 0-9 . _ -'],
    [{ type: 't', jobId: 'a#payload' }, "'jobId' is 'a#payload'", 'A-Z a-z 0-9 . _ -'],
    [{ type: 't', jobId: 'a\n' }, "'jobId' is 'a '", '1 to 200 characters'],
    [{ type: 't', jobId: 'a'.repeat(201) }, '203 characters', '1 to 200 characters'],
    [{ type: 't', paylod: 1 }, "unknown key 'paylod'", "Did you mean 'payload'?"],
    [{ type: 't', color: 1 }, "unknown key 'color'", "put your own data in 'payload'"],
    [{ type: 't', payload: 'x'.repeat(1023) }, '1025 bytes', 'at most 1024 are allowed. Put the data in S3'],
    [{ type: 't', notBefore: 1, delayMs: 1 }, "both 'notBefore' and 'delayMs'", 'send one of them'],
    [{ type: 't', delayMs: -1 }, "'delayMs' is -1", 'a whole number from 0 to 1000000'],
    [{ type: 't', delayMs: 1_000_001 }, "'delayMs' is 1000001", 'from 0 to 1000000'],
    [{ type: 't', delayMs: '5' }, "'delayMs' is '5'", 'a whole number'],
    [{ type: 't', notBefore: 'tomorrow' }, "'notBefore' is 'tomorrow'", 'an ISO 8601 instant such as'],
    [{ type: 't', notBefore: '2027-01-31T09:10:00' }, 'T09:10:00', 'an ISO 8601 instant'],
    [{ type: 't', notBefore: '2027-13-31T09:10:00Z' }, '2027-13-31', 'an ISO 8601 instant'],
    [
      { type: 't', notBefore: now + 1_000_001 },
      `'notBefore' is ${now + 1_000_001}`,
      'at most 1000000 ms ahead',
    ],
    [{ type: 't', leaseMs: 9_999 }, "'leaseMs' is 9999", 'a whole number from 10000 to 3600000'],
    [{ type: 't', maxAttempts: 0 }, "'maxAttempts' is 0", 'a whole number from 1 to 25'],
    [{ type: 't', maxCrashes: 26 }, "'maxCrashes' is 26", 'from 1 to 25'],
    [{ type: 't', key: 'a:b' }, "'key' is 'a:b'", 'A-Z a-z 0-9 . _ -'],
    [{ type: 't', key: 7 }, "'key' is 7", 'left out: the job then counts towards no limit per key'],
    [{ hint: 'a b' }, "names 'a b'", 'not a job id'],
    [{ hint: 5 }, 'names 5', 'only Leasehold sends hints'],
  ])('fields %j', (fields, got, allowed) => {
    expect(reasonOf(fields)).toContain(got);
    expect(reasonOf(fields)).toContain(allowed);
  });

  it.each([
    ['payload', { type: 't', payload: 'x'.repeat(1022) }],
    ['delayMs', { type: 't', delayMs: 1_000_000 }],
    ['notBefore', { type: 't', notBefore: now + 1_000_000 }],
    ['leaseMs', { type: 't', leaseMs: 3_600_000 }],
    ['type', { type: 'a'.repeat(100) }],
    ['jobId', { type: 't', jobId: 'a'.repeat(200) }],
    ['key', { type: 't', key: 'a'.repeat(100) }],
  ])('%s is accepted at its limit', (_, fields) => {
    expect(reasonOf(fields)).toBe('accepted');
  });
});

/** Any UTF-16 unit, halves of surrogate pairs included. */
const anyUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

describe('hostile input', () => {
  const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

  it('is refused when nested too deeply to be stored, wherever that is', () => {
    const deep = nested(50_000, '[', ']');
    expect(reason(`{"type":"t","payload":${deep}}`)).toContain('nested too deeply');
    expect(reason(deep)).toContain('an object that is not JSON');
    expect(reason(`{"type":${deep}}`)).toContain("'type' is an object that is not JSON");
    expect(reason(`{"hint":${deep}}`)).toContain('not a job id');
    expect(reason(`{"type":"t","delayMs":${deep}}`)).toContain("'delayMs' is");
  });

  it('cannot reach the prototype', () => {
    expect(reason('{"type":"t","__proto__":{"jobId":"evil"}}')).toContain("unknown key '__proto__'");
    expect(reason('{"__proto__":{"hint":"x","type":"t"}}')).toContain("unknown key '__proto__'");
    for (const name of ['type', 'jobId', 'key'])
      expect(reason(JSON.stringify({ type: 't', [name]: '__proto__' }))).toContain(
        `'${name}' is '__proto__'`,
      );
    expect(parse('{"type":"t","payload":{"__proto__":{"a":1}}}')).toMatchObject({
      message: { payload: '{"__proto__":{"a":1}}' },
    });
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  it('is cut short in the reason, on one line and in whole characters', () => {
    const text = reasonOf({ type: `${'x'.repeat(78)}😀\n\u2028${'y'.repeat(5000)}` });
    expect(text).toContain('(5084 characters)');
    expect(text.length).toBeLessThan(300);
    expect(text).not.toMatch(/[\n\u2028]/);
    expect(text.isWellFormed()).toBe(true);
  });

  it(
    'never makes the parser throw',
    () => {
      fc.assert(
        fc.property(fc.oneof(fc.string({ unit: anyUnit }), fc.json()), (body) => {
          const parsed = parse(body);
          expect(parsed.ok || parsed.reason.length > 10).toBe(true);
        }),
        { numRuns: 200 },
      );
    },
    RANDOM_RUNS_MS,
  );
});

describe('a hint', () => {
  it('names a row and nothing else', () => {
    expect(parse(hintBody({ jobId: 'j1' }))).toEqual({ ok: true, message: { kind: 'hint', jobId: 'j1' } });
  });
});
