import type { MessageLimits } from '../wire/message.ts';
import { declarations, MAX_DELAY_MS, MAX_LEASE_MS, type Settings } from './settings.ts';

export const messageLimits = (settings: Pick<Settings, 'minLeaseMs' | 'maxPayloadBytes'>): MessageLimits => ({
  minLeaseMs: settings.minLeaseMs,
  maxLeaseMs: MAX_LEASE_MS,
  maxAttempts: declarations.maxAttempts.max,
  maxDelayMs: MAX_DELAY_MS,
  maxPayloadBytes: settings.maxPayloadBytes,
});
