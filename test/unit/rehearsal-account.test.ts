import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACCOUNT_COST, ACCOUNT_STEPS, chooseAccount } from '../rehearsal/account-plan.ts';

const signedIn = { AWS_PROFILE: 'sandbox', AWS_REGION: 'eu-west-1' };
const account = '123456789012';

describe('a rehearsal in a real account', () => {
  it.each([
    [
      'the account is no account',
      { account: 'mine', yes: true },
      signedIn,
      /--account is 'mine'; it must be the 12 digits/,
    ],
    ['the account is missing', { account: '', yes: true }, signedIn, /--account is ''/],
    [
      'there is no region',
      { account, yes: true },
      { AWS_PROFILE: 'sandbox' },
      /the region is ''; name one, such as --region/,
    ],
    [
      'the region is no region',
      { account, region: 'Ireland', yes: true },
      signedIn,
      /the region is 'Ireland'/,
    ],
    [
      'nobody is signed in',
      { account, region: 'eu-west-1', yes: true },
      {},
      /no credentials are named; set one of AWS_ACCESS_KEY_ID, AWS_PROFILE/,
    ],
    [
      'nobody said yes',
      { account },
      signedIn,
      /Nothing was done. To do it:\n {2}npm run rehearse -- --account 123456789012 --region eu-west-1 --yes$/,
    ],
  ])('is refused when %s', (_, given, environment, says) => {
    expect(chooseAccount(given, environment)).toEqual({ refused: expect.stringMatching(says) });
  });

  it('says beforehand what it will do and what it costs, well below a dollar', () => {
    const choice = chooseAccount({ account }, signedIn);
    const said = 'refused' in choice ? choice.refused : '';
    for (const step of ACCOUNT_STEPS) expect(said).toContain(step);
    const dollars = ACCOUNT_COST.reduce((sum, [, each]) => sum + each, 0);
    expect(said).toContain(`about $${dollars.toFixed(2)}`);
    expect(dollars).toBeLessThan(1);
    expect(dollars).toBeGreaterThan(0.05);
  });

  it('is done with a number, a region, credentials and a yes', () => {
    expect(chooseAccount({ account, yes: true }, signedIn)).toEqual({ account, region: 'eu-west-1' });
  });

  it('is refused by the command itself, before anything is started', () => {
    const program = join(import.meta.dirname, '..', 'rehearsal', 'run.ts');
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [program, ...args], { env: { PATH: '', ...signedIn }, encoding: 'utf8' });
    const refused = run('--account', account);
    expect(refused.status).toBe(1);
    expect(refused.stdout).toBe('');
    expect(refused.stderr).toContain('Nothing was done.');
    expect(run('--acount', account).status).not.toBe(0);
  });
});
