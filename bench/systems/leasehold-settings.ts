import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import type { Profile } from './system.ts';

const FAST: Partial<Settings> = { leaseMs: 10_000 };

/** How Leasehold is set in each profile; shared with its process. */
export const settingsOf = (profile: Profile, more: Partial<Settings> = {}): Settings =>
  resolveSettings({
    eventsEnabled: false,
    ...(profile === 'default' ? undefined : FAST),
    ...more,
  });

/** Where an engine on this machine answers; it takes any credentials. */
export const local = (endpoint: string) => ({
  endpoint,
  region: 'eu-west-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
});
