import type { SQSEvent } from 'aws-lambda';
import { systemRandom } from '../../lib/aws/clock.ts';
import { connectDeployed } from '../../lib/aws/connect-deployed.ts';
import { middy } from '../../lib/aws/lambda/middy.ts';
import { describeQueue } from '../../lib/aws/sqs/queue-inspection.ts';
import { createWakeQueue } from '../../lib/aws/sqs/wake-queue.ts';
import { type ReapDeps, type ReapResult, reap } from '../../lib/reaper/reap.ts';
import { publishTasksWanted } from '../../lib/reaper/tasks-wanted.ts';
import type { Trigger } from '../../lib/reaper/wake.ts';
import { configurationFromEnvironment, wakeQueueFromEnvironment } from '../../lib/settings/environment.ts';

const configuration = configurationFromEnvironment(process.env);
const actor = `reaper/${systemRandom.unique()}`;
const aws = connectDeployed({ configuration, actor, polls: false });
const deps: ReapDeps = {
  ...aws,
  // Shared by all environments of the function, so that the holder stays the same.
  name: 'reaper function',
  wakeQueue: createWakeQueue(aws.sqs, wakeQueueFromEnvironment(process.env)),
};

/** Leaves time for the last page of a sweep and the message to the next reaper. */
const MARGIN_MS = 10_000;

export const handler = middy<Partial<SQSEvent>, ReapResult>({ timeoutEarlyInMillis: 0 })
  .use(aws.telemetry.middleware)
  .handler(async (event, context) => {
    const timeLeft = Math.max(0, context.getRemainingTimeInMillis() - MARGIN_MS);
    const trigger = triggerOf(event);
    const reaped = await reap(deps, trigger, { deadlineAt: aws.clock.now() + timeLeft });
    const { routing, settings } = configuration;
    if (trigger.kind === 'tick' && routing !== undefined)
      await publishTasksWanted({ ...aws, ...routing, shards: settings.shards, visibleIn });
    return reaped;
  });

const visibleIn = async (queueUrl: string): Promise<number> =>
  (await describeQueue(aws.sqs, queueUrl)).visible;

const triggerOf = ({ Records }: Partial<SQSEvent>): Trigger =>
  Records === undefined
    ? { kind: 'tick' }
    : { kind: 'wake', tokens: Records.map(({ body }) => tokenIn(body)) };

/** Other messages have no valid token. */
function tokenIn(body: string): string {
  try {
    return String(JSON.parse(body)?.wake ?? '');
  } catch {
    return '';
  }
}
