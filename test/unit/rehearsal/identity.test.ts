import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sign } from '../../../rehearsal/aws-request.ts';
import { deleteCommand, identityVariables } from '../../../rehearsal/identity.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-identity-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const role = 'arn:aws:iam::123456789012:role/rehearsal';
const COMMAND = 'aws cloudformation delete-stack --stack-name Some --region eu-west-1';

describe('an identity', () => {
  it('is a profile, also in the command that deletes the stack', () => {
    const variables = identityVariables({ profile: 'sandbox' }, {}, folder);
    expect(variables).toEqual({ AWS_PROFILE: 'sandbox' });
    expect(deleteCommand('Some', 'eu-west-1', variables)).toBe(`${COMMAND} --profile sandbox`);
  });

  it.each([
    ['a profile', { profile: 'sandbox' }, {}, 'source_profile = sandbox'],
    ['keys in the environment', {}, { AWS_ACCESS_KEY_ID: 'AKIA' }, 'credential_source = Environment'],
    [
      'a container',
      {},
      { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23' },
      'credential_source = EcsContainer',
    ],
    ['the profile of the environment', {}, { AWS_PROFILE: 'mine' }, 'source_profile = mine'],
    ['the default profile', {}, {}, 'source_profile = default'],
  ])('is a role that %s assumes, by a profile in a private file', (_, given, environment, source) => {
    const own = join(folder, 'own-config');
    writeFileSync(own, '[profile sandbox]\nregion = eu-west-1\n');
    const variables = identityVariables({ ...given, role }, { ...environment, AWS_CONFIG_FILE: own }, folder);
    const file = join(folder, 'aws-config');
    expect(variables).toEqual({ AWS_PROFILE: 'leasehold-rehearsal', AWS_CONFIG_FILE: file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const lines = readFileSync(file, 'utf8').split('\n');
    expect(lines).toEqual(expect.arrayContaining(['[profile sandbox]', `role_arn = ${role}`, source]));
    expect(deleteCommand('Some', 'eu-west-1', variables)).toBe(
      `AWS_CONFIG_FILE=${file} ${COMMAND} --profile leasehold-rehearsal`,
    );
  });
});

describe('a signature', () => {
  it('is that of the example in the documentation of AWS', () => {
    const signed = sign(
      {
        method: 'GET',
        url: new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'),
        body: '',
        headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      },
      {
        service: 'iam',
        region: 'us-east-1',
        accessKeyId: 'AKIDEXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      },
      new Date('2015-08-30T12:36:00Z'),
    );
    expect(signed.authorization).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    );
  });
});
