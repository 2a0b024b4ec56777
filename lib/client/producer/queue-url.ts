import { routingFromEnvironment } from '../../settings/environment.ts';
import { defaultSettings, type Settings } from '../../settings/settings.ts';
import { resourceVariables, settingVariable } from '../../wire/environment.ts';
import { quoted } from '../../wire/message.ts';
import type { Routing } from '../../wire/pools.ts';

export const queueUrlOf = (given: string | undefined): string | undefined =>
  given ?? (process.env[resourceVariables.queueUrl] || undefined);

/** The environment's pools belong to its queue; workers forward messages sent to another. */
export const routingOf = (given: string | undefined): Routing | undefined =>
  given === undefined ? routingFromEnvironment(process.env) : undefined;

/** The environment's `fair` belongs to its queue; a sender's other settings are only limits. */
export const senderSettings = (given: Partial<Settings> = {}): Settings => ({
  ...defaultSettings,
  fair: process.env[settingVariable('fair')] === 'true',
  ...given,
});

export const queueProblem = (of: string, queueUrl: string | undefined): string =>
  `the ${of}'s queue is ${queueUrl === undefined ? 'not given' : quoted(queueUrl)}; set ${resourceVariables.queueUrl}, or the option 'queue', to the URL of the job queue: the stack's output QueueUrl, or locally what 'leasehold dev --env' prints`;
