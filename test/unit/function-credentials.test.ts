import { afterEach, describe, expect, it, vi } from 'vitest';
import { defaultProvider } from '../../lib/aws/lambda/function-credentials.ts';

afterEach(() => vi.unstubAllEnvs());

describe('the credentials of a bundled function', () => {
  it('are the three variables that Lambda sets', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    vi.stubEnv('AWS_ACCOUNT_ID', undefined);
    await expect(defaultProvider()()).resolves.toEqual({
      accessKeyId: 'id',
      secretAccessKey: 'secret',
      sessionToken: 'session',
    });
  });

  it('say what to do where nobody set them', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
    await expect(defaultProvider()()).rejects.toThrow(
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set',
    );
  });
});
