import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { localEnvironment, readEnvFile } from '../../lib/tools/dev/local-environment.ts';

it('shows handlers the variables of the user, and the AWS settings that they chose', () => {
  const stack = { AWS_ACCESS_KEY_ID: 'LOCAL1', LEASEHOLD_LEASE_MS: '4000' };
  const user = {
    DATABASE_URL: 'postgres://mine',
    LEASEHOLD_LEASE_MS: '20000',
    AWS_PROFILE: 'work',
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9000',
  };
  const { DATABASE_URL, AWS_PROFILE, AWS_ENDPOINT_URL_S3 } = user;
  expect(localEnvironment.worker(stack, user, 'local')).toEqual({
    ...stack,
    DATABASE_URL,
    AWS_ENDPOINT_URL_S3,
  });
  expect(localEnvironment.worker(stack, user, 'mine')).toEqual({
    ...{ DATABASE_URL, AWS_PROFILE, AWS_ENDPOINT_URL_S3, LEASEHOLD_LEASE_MS: '4000' },
    __LEASEHOLD_AWS: '{"AWS_ACCESS_KEY_ID":"LOCAL1"}',
  });
});

it('reads the variables of .env where there is one, or of the file that is named, which must exist', () => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-env-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  expect(readEnvFile(folder, undefined)).toEqual({});
  writeFileSync(join(folder, '.env'), 'LEVEL=plain\n');
  writeFileSync(join(folder, 'other.env'), 'LEVEL="two words" # a comment\n');
  expect(readEnvFile(folder, undefined)).toEqual({ LEVEL: 'plain' });
  expect(readEnvFile(folder, 'other.env')).toEqual({ LEVEL: 'two words' });
  expect(() => readEnvFile(folder, 'none.env')).toThrow(/none\.env' of --env-file cannot be read/);
});
