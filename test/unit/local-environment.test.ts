import { expect, it } from 'vitest';
import { localEnvironment } from '../../lib/tools/dev/local-environment.ts';

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
