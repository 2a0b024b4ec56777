import { describe, expect, it } from 'vitest';
import { type Facts, judge } from '../../../rehearsal/preflight.ts';

const choice = { account: '123456789012', region: 'eu-west-1' };
const good: Facts = {
  account: choice.account,
  clockOffsetMs: 200,
  bootstrapVersion: 28,
  concurrency: { limit: 1000, unreserved: 1000 },
  session: { isTemporary: false, isRenewed: false },
  stackStatus: undefined,
  missingTools: [],
};
const judged = (facts: Partial<Facts>) => judge({ ...good, ...facts }, choice, 'aws delete it');
const temporary = { isTemporary: true, isRenewed: false };

describe('the preflight', () => {
  it('lets a good account pass, also a new one with 10 concurrent executions', () => {
    expect(judged({})).toEqual({ problems: [], warnings: [] });
    expect(judged({ concurrency: { limit: 10, unreserved: 10 } }).problems).toEqual([]);
  });

  it.each<[string, Partial<Facts>, RegExp]>([
    [
      'another account',
      { account: '999999999999' },
      /belong to account 999999999999, and --account is 123456789012/,
    ],
    [
      'no bootstrap',
      { bootstrapVersion: 'absent' },
      /bootstrap of eu-west-1 is absent; .*npx cdk bootstrap aws:\/\/123456789012\/eu-west-1/,
    ],
    ['an old bootstrap', { bootstrapVersion: 5 }, /is version 5; it must be version 6 or newer/],
    [
      'too little concurrency',
      { concurrency: { limit: 10, unreserved: 9 } },
      /9 of 10 concurrent executions are unreserved in eu-west-1, and the rehearsal needs 10; raise the quota: aws service-quotas/,
    ],
    ['a clock that is off', { clockOffsetMs: -1501 }, /clock differs from AWS's by about -1\.5 s/],
    [
      'a stack that is there',
      { stackStatus: 'CREATE_COMPLETE' },
      /already exists \(CREATE_COMPLETE\).*\n {2}aws delete it$/,
    ],
    ['missing tools', { missingTools: ['aws-cdk', 'esbuild'] }, /npm install --save-dev aws-cdk esbuild$/],
    [
      'a short session',
      { session: { ...temporary, minutesLeft: 79.9 } },
      /expire in 79 minutes, and the rehearsal takes about 80; use --profile or --role/,
    ],
  ])('refuses %s, with the next step', (_, facts, message) => {
    expect(judged(facts)).toEqual({ problems: [expect.stringMatching(message)], warnings: [] });
  });

  it.each<[string, Partial<Facts>, RegExp]>([
    [
      'a session whose end is not known',
      { session: temporary },
      /when these temporary credentials expire is not known/,
    ],
    ['a bootstrap that may not be read', { bootstrapVersion: undefined }, /may not be read/],
    ['a quota that may not be read', { concurrency: undefined }, /may not be read/],
  ])('warns of %s', (_, facts, message) => {
    expect(judged(facts)).toEqual({ problems: [], warnings: [expect.stringMatching(message)] });
  });
});
