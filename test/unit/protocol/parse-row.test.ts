import { describe, expect, it } from 'vitest';
import { BadRowError } from '../../../lib/protocol/errors.ts';
import { parseJob, parseLeaseEntry } from '../../../lib/protocol/rows/parse-row.ts';
import { row } from '../../support/rows.ts';

const problem = (parse: () => unknown): string => {
  try {
    parse();
    return 'accepted';
  } catch (error) {
    expect(error).toBeInstanceOf(BadRowError);
    expect(error).toMatchObject({ code: 'BAD_ROW', jobId: expect.any(String) });
    return (error as Error).message;
  }
};

const TERMS = ['leaseMs', 'maxAttempts', 'maxCrashes'];

describe('a row as a job', () => {
  it('keeps the text of a rejected message', () => {
    expect(parseJob(row({ status: 'failed', rawText: '{', rawBytes: 1, rawSha256: 'ab' }))).toMatchObject({
      rawMessage: { text: '{', bytes: 1, sha256: 'ab' },
    });
    expect(problem(() => parseJob(row({ status: 'failed', rawText: '{' })))).toContain(
      "'rawBytes' is missing",
    );
  });

  it('puts the ring of claims in order, leaving out what cannot be read', () => {
    const claim = (attempt: number) => ({ attempt, owner: 'w/1', from: 1, to: 2, outcome: 'lapsed' });
    const broken = [
      'text',
      null,
      7,
      {},
      { ...claim(1), owner: 1 },
      { ...claim(1), from: '' },
      { ...claim(1), to: null },
      { ...claim(1), outcome: 0 },
    ];
    const ring = Object.fromEntries(broken.map((past, i) => [`claim0${i + 2}`, past]));
    expect(
      parseJob(row({ ...ring, claim00: claim(10), claim01: claim(11), claim02: claim(2) })).claims,
    ).toEqual([claim(2), claim(10), claim(11)]);
  });

  it.each(['pending', 'cancelled'])('may lack the terms of its type while %s', (status) => {
    const unset = Object.fromEntries(TERMS.map((name) => [name, undefined]));
    const job = parseJob(row({ status, ...unset }));
    expect(job.status).toBe(status);
    for (const name of TERMS) expect(job).not.toHaveProperty(name);
  });
});

describe('a row that cannot be read', () => {
  const needed =
    'type payload attempt errors crashes releases leaseShard createdAt changedBy status leaseUntil notBefore dispatches checkpointSeq format';

  it.each(needed.split(' '))('names %s when it is missing', (name) => {
    const message = problem(() => parseJob(row({ [name]: undefined })));
    expect(message).toContain(`row 'j1': '${name}' is missing`);
    expect(message).toContain('leasehold doctor');
  });

  it.each([
    ['running', 'startedAt'],
    ['running', 'leaseOwner'],
    ['running', 'heartbeatAt'],
    ...['running', 'done', 'failed'].flatMap((status) => TERMS.map((name) => [status, name])),
    ['done', 'finishedAt'],
    ['failed', 'expiresAt'],
  ])('names what a %s job lacks: %s', (status, name) => {
    expect(problem(() => parseJob(row({ status, [name]: undefined })))).toContain(`'${name}' is missing`);
  });

  it.each([
    ['attempt', '1', "'attempt' is '1' (string); it must be a whole number"],
    ['attempt', 1.5, "'attempt' is 1.5 (number); it must be a whole number"],
    ['attempt', 2 ** 60, "'attempt' is 1152921504606847000 (number)"],
    ['errors', null, "'errors' is null (null); it must be a whole number"],
    ['type', 7, "'type' is 7 (number); it must be a string"],
    ['type', new Set(['a']), "'type' is {} (object); it must be a string"],
    [
      'status',
      'paused',
      "'status' is 'paused' (string); it must be one of pending, running, done, failed, cancelled",
    ],
    ['format', 0, "'format' is 0 (number); it must be 1"],
    ['dispatches', 'x', "'dispatches' is 'x' (string)"],
    ['startedAt', 'x', "'startedAt' is 'x' (string)"],
  ])('names %s when it is %s', (name, value, message) => {
    expect(problem(() => parseJob(row({ [name]: value })))).toContain(message);
  });

  it('never shows what may be private', () => {
    expect(problem(() => parseJob(row({ payload: 12345 })))).toContain(
      "'payload' is something else; it must be a string",
    );
    expect(problem(() => parseJob(row({ checkpoint: '{secret' })))).not.toContain('secret');
  });

  it('without an id is named as such', () => {
    expect(problem(() => parseJob(row({ jobId: undefined })))).toContain("row '(no jobId)'");
  });
});

describe('an entry of the lease index', () => {
  it.each(['type', 'leaseShard', 'leaseUntil', 'attempt', 'errors', 'crashes', 'releases', 'status'])(
    'names %s when it is missing',
    (name) => {
      expect(problem(() => parseLeaseEntry(row({ [name]: undefined })))).toContain(`'${name}' is missing`);
    },
  );

  it.each(TERMS)('may lack %s while it is pending, not while it runs', (name) => {
    expect(parseLeaseEntry(row({ [name]: undefined }))).not.toHaveProperty(name);
    const running = { status: 'running', [name]: undefined };
    expect(problem(() => parseLeaseEntry(row(running)))).toContain(`'${name}' is missing`);
    expect(problem(() => parseLeaseEntry(row({ [name]: 'x' })))).toContain(`'${name}' is 'x' (string)`);
  });

  it('is not a finished job, however it came to have a lease', () => {
    expect(problem(() => parseLeaseEntry(row({ status: 'done' })))).toContain(
      "'status' is 'done' (string); it must be pending or running while the row has a lease",
    );
  });
});
