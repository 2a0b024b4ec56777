import { describe, expect, it } from 'vitest';
import { areCredentialsGone, runSteps, type Step } from '../../../rehearsal/step-runner.ts';

const step = (name: string, run: Step['run'], rest: Partial<Step> = {}): Step => ({
  name,
  title: `do ${name}`,
  run,
  ...rest,
});
const passes = async () => ['seen'];
const fails = async () => {
  throw new Error('broken');
};

async function outcomes(
  steps: readonly Step[],
  { signal = new AbortController().signal, lacks = [] as readonly 'alarms'[] } = {},
) {
  const started: string[] = [];
  const results = await runSteps(steps, {
    signal,
    lacks,
    isFatal: areCredentialsGone,
    now: () => 0,
    onStart: ({ name }) => started.push(name),
    onEnd: () => {},
  });
  return { started, seen: results.map(({ name, outcome, notes }) => [name, outcome, notes.join()]) };
}

describe('the steps of a rehearsal', () => {
  it('go on after one that failed', async () => {
    const { seen } = await outcomes([step('a', fails), step('b', passes)]);
    expect(seen).toEqual([
      ['a', 'failed', 'broken'],
      ['b', 'passed', 'seen'],
    ]);
  });

  it('are skipped with the name of the missing part, without starting', async () => {
    const { started, seen } = await outcomes([step('a', passes, { needs: ['alarms'] }), step('b', passes)], {
      lacks: ['alarms'],
    });
    expect(started).toEqual(['b']);
    expect(seen[0]).toEqual(['a', 'skipped', 'needs alarms']);
  });

  it.each([
    ['a required one failed', step('a', fails, { required: true })],
    [
      'credentials expired',
      step('a', async () => {
        throw new Error('no answer', {
          cause: Object.assign(new Error('x'), { name: 'ExpiredTokenException' }),
        });
      }),
    ],
  ])('are not reached once %s', async (_, first) => {
    const { started, seen } = await outcomes([
      first,
      step('b', passes),
      step('c', passes, { needs: ['alarms'] }),
    ]);
    expect(started).toEqual(['a']);
    expect(seen.map(([, outcome]) => outcome)).toEqual(['failed', 'not reached', 'not reached']);
  });

  it('end with the signal, even one that ignores it', async () => {
    const interrupted = new AbortController();
    const deaf = step('a', () => {
      interrupted.abort(new Error('interrupted by SIGINT'));
      return new Promise(() => {});
    });
    const { started, seen } = await outcomes([deaf, step('b', passes)], { signal: interrupted.signal });
    expect(started).toEqual(['a']);
    expect(seen).toEqual([
      ['a', 'interrupted', 'interrupted by SIGINT'],
      ['b', 'not reached', 'interrupted before'],
    ]);
  });
});

describe('credentials are gone', () => {
  it.each([
    ['by name', Object.assign(new Error('x'), { name: 'ExpiredTokenException' }), true],
    ['by code', Object.assign(new Error('x'), { code: 'ExpiredToken' }), true],
    [
      'in the output of a child',
      new Error('cdk deploy ended with 1:\nExpiredToken: The security token'),
      true,
    ],
    ['of an SSO session', Object.assign(new Error('x'), { name: 'CredentialsProviderError' }), true],
    ['not by a throttle', Object.assign(new Error('x'), { name: 'ThrottlingException' }), false],
    ['not by a string', 'ExpiredToken', false],
  ])('%s', (_, error, expected) => {
    expect(areCredentialsGone(error)).toBe(expected);
  });
});
