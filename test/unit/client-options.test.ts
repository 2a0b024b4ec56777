import { afterEach, expect, it, vi } from 'vitest';
import { createClient } from '../../lib/client/index.ts';
import { SettingsError } from '../../lib/index.ts';

afterEach(() => vi.unstubAllEnvs());

it('a client says all that it was made with and that cannot work when it is first used, not when a build loads it', async () => {
  vi.stubEnv('LEASEHOLD_TABLE_NAME', '');
  const used = createClient({ queue: 'jobs', actor: 'a/b' }).get('a');
  await expect(used).rejects.toThrow(SettingsError);
  await expect(used).rejects.toThrow(
    /LEASEHOLD_TABLE_NAME[\s\S]*queue is 'jobs'.*QueueUrl[\s\S]*actor is 'a\/b'/,
  );
});

it('a client without a queue says so when one is needed', async () => {
  vi.stubEnv('LEASEHOLD_QUEUE_URL', '');
  const client = createClient({ table: 'jobs', region: 'eu-west-1' });
  await expect(client.send('greet', {})).rejects.toThrow(/queue is not given.*QueueUrl/);
  await expect(client.send('greet', {})).rejects.toBeInstanceOf(SettingsError);
  client.close();
});
