import middy from '@middy/core';
import type { Context, SQSEvent } from 'aws-lambda';
import { systemChance } from '../../lib/aws/clock.ts';
import { connectDeployed } from '../../lib/aws/connect-deployed.ts';
import { createWakeQueue } from '../../lib/aws/sqs/wake-queue.ts';
import { type ChainDeps, type ChainResult, reapInChain } from '../../lib/reaper/chain.ts';
import type { Occasion } from '../../lib/reaper/wake.ts';
import { configurationFromEnvironment, wakeQueueFromEnvironment } from '../../lib/settings/environment.ts';

const configuration = configurationFromEnvironment(process.env);
const name = `reaper/${systemChance.unique()}`;
const aws = connectDeployed({ configuration, actor: name, polls: false });
const { clock } = aws;
const deps: ChainDeps = {
  ...aws,
  wakeQueue: createWakeQueue(aws.sqs, wakeQueueFromEnvironment(process.env)),
  flush: () => aws.telemetry.flush(),
};

/** What the last page of a sweep and the message to the next reaper may take. */
const MARGIN_MS = 10_000;

/** Started by its schedule, or by the reaper before through the wake queue. */
export const handler = middy<Partial<SQSEvent>, ChainResult, Error, Context>().handler((event, context) => {
  const timeLeft = Math.max(0, context.getRemainingTimeInMillis() - MARGIN_MS);
  return reapInChain(deps, occasionOf(event), { deadlineAt: clock.now() + timeLeft });
});

const occasionOf = ({ Records }: Partial<SQSEvent>): Occasion =>
  Records === undefined
    ? { kind: 'tick' }
    : { kind: 'wake', tokens: Records.map(({ body }) => tokenIn(body)) };

/** The token of a wake; a message that somebody else sent counts for nothing. */
function tokenIn(body: string): string {
  try {
    return String(JSON.parse(body)?.wake ?? '');
  } catch {
    return '';
  }
}
