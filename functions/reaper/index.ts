import middy from '@middy/core';
import type { Context, ScheduledEvent } from 'aws-lambda';
import { systemChance } from '../../lib/aws/clock.ts';
import { connectDeployed } from '../../lib/aws/connect-deployed.ts';
import { type WatchDeps, type WatchResult, watch } from '../../lib/reaper/watch.ts';
import { configurationFromEnvironment } from '../../lib/settings/environment.ts';

const configuration = configurationFromEnvironment(process.env);
const name = `reaper/${systemChance.unique()}`;
const aws = connectDeployed({ configuration, actor: name });
const { clock, settings } = aws;
const deps: WatchDeps = { ...aws, name, flush: () => aws.telemetry.flush() };

/** What the last page of a sweep and giving up the lead may take. */
const MARGIN_MS = 10_000;

/** Watches the leases for as long as this invocation may. */
export const handler = middy<ScheduledEvent, WatchResult, Error, Context>().handler((_event, context) => {
  const timeLeft = Math.max(0, context.getRemainingTimeInMillis() - MARGIN_MS);
  return watch(deps, { deadlineAt: clock.now() + Math.min(settings.watchMs, timeLeft) });
});
