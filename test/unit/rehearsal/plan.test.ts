import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COST, chooseAccount, planText, yesArguments } from '../../../rehearsal/plan.ts';

const account = '123456789012';
const environment = { AWS_REGION: 'eu-west-1' };
const steps = ['deploy', 'lapses', 'metrics'];

describe('what was asked for', () => {
  it.each([
    ['an account that is none', { account: 'mine' }, /--account is 'mine'; it must be the 12 digits/],
    ['no account', { account: '' }, /--account is ''/],
    ['no region', { account, region: '' }, /the region is ''; name one, such as --region/],
    ['a region that is none', { account, region: 'Ireland' }, /the region is 'Ireland'/],
    ['an empty profile', { account, profile: '' }, /--profile is empty; name a profile/],
    ['a role by its name', { account, role: 'admin' }, /--role is 'admin'; it must be the ARN of a role/],
    [
      'an unknown step',
      { account, only: 'lapses,metric' },
      /--only names no step: metric; the steps are deploy, lapses, metrics/,
    ],
  ])('is refused with %s', (_, given, message) => {
    expect(chooseAccount(given, environment, steps)).toEqual({ refused: expect.stringMatching(message) });
  });

  it('is an account and a region, with a profile, a role and steps where they were named', () => {
    const role = 'arn:aws:iam::123456789012:role/path/rehearsal';
    expect(chooseAccount({ account }, environment, steps)).toEqual({ account, region: 'eu-west-1' });
    const choice = chooseAccount(
      { account, region: 'us-gov-west-1', profile: 'sandbox', role, only: 'lapses,metrics' },
      environment,
      steps,
    );
    if ('refused' in choice) throw new Error(choice.refused);
    expect(yesArguments(choice)).toBe(
      `--account ${account} --region us-gov-west-1 --profile sandbox --role ${role} --only lapses,metrics --yes`,
    );
  });
});

describe('the plan', () => {
  it('names every step and the price, well below a dollar', () => {
    const text = planText({ account, region: 'eu-west-1' }, [{ name: 'lapses', title: 'kill workers' }]);
    const dollars = COST.reduce((sum, [, each]) => sum + each, 0);
    expect(text).toContain('1. lapses: kill workers');
    expect(text).toContain(`about $${dollars.toFixed(2)}`);
    expect(dollars).toBeLessThan(1);
    expect(dollars).toBeGreaterThan(0.05);
  });

  it('is all that the command does without a yes', () => {
    const program = join(import.meta.dirname, '..', '..', '..', 'rehearsal', 'main.ts');
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [program, ...args], { env: { PATH: '' }, encoding: 'utf8' });
    const refused = run('--account', account, '--region', 'eu-west-1', '--profile', 'sandbox');
    expect(refused.status).toBe(1);
    expect(refused.stdout).toBe('');
    expect(refused.stderr).toMatch(
      /Nothing was done\. To do it:\n {2}npx -p leasehold leasehold-rehearse --account 123456789012 --region eu-west-1 --profile sandbox --yes\n$/,
    );
  });
});
