import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { GetScheduleCommand, SchedulerClient, UpdateScheduleCommand } from '@aws-sdk/client-scheduler';
import { JobFailedError } from '../lib/client/index.ts';
import type { AwsRequests } from './aws-request.ts';
import { untilAlarm } from './cloudwatch.ts';
import type { System } from './system.ts';

/**
 * The alarms that are driven, with the minutes in which the runbook says they go off at the latest, and CloudWatch's own: two
 * for Leasehold's metrics, five for those of SQS. @internal
 */
export const DRIVEN_ALARMS = {
  failed: { title: 'jobs failed', minutes: 5, cloudWatchMinutes: 2 },
  silent: { title: 'the reaper is silent', minutes: 5, cloudWatchMinutes: 5 },
  stalled: { title: 'jobs wait and none is started', minutes: 18, cloudWatchMinutes: 5 },
} as const;

const BACK_MINUTES = 20;

interface Parts {
  readonly system: System;
  readonly aws: AwsRequests;
  readonly signal: AbortSignal;
}

export async function driveAlarms({ system, aws, signal }: Parts): Promise<string[]> {
  const { region } = aws;
  const { ServiceName, WorkerSourceId, ReaperScheduleName } = system.outputs;
  const cloudWatch = new CloudWatchClient({ region });
  const scheduler = new SchedulerClient({ region });
  const drive = async (which: keyof typeof DRIVEN_ALARMS, repair: () => Promise<unknown>) => {
    const { title, minutes, cloudWatchMinutes } = DRIVEN_ALARMS[which];
    const name = `${ServiceName}: ${title}`;
    const allowed = minutes + cloudWatchMinutes;
    const up = await untilAlarm(cloudWatch, name, 'ALARM', { signal, withinMinutes: allowed });
    await repair();
    const down = await untilAlarm(cloudWatch, name, 'OK', { signal, withinMinutes: BACK_MINUTES });
    return `*${title}*: ALARM after ${up.toFixed(1)} of at most ${allowed} minutes, OK ${down.toFixed(1)} minutes after the repair`;
  };
  try {
    await failOneJob(system);
    await switchSchedule(scheduler, ReaperScheduleName, 'DISABLED');
    await switchSource(aws, WorkerSourceId, false);
    await system.client.send('quick', {}, { jobId: 'waits' });
    return await Promise.all([
      drive('failed', async () => {}),
      drive('silent', () => switchSchedule(scheduler, ReaperScheduleName, 'ENABLED')),
      drive('stalled', () => switchSource(aws, WorkerSourceId, true)),
    ]);
  } finally {
    cloudWatch.destroy();
    scheduler.destroy();
  }
}

async function failOneJob({ client }: System): Promise<void> {
  const sent = await client.send('fail', {}, { jobId: 'fails' });
  await client.waitFor(sent, { timeoutMs: 120_000 }).then(
    () => {
      throw new Error('the job that must fail was done');
    },
    (error: unknown) => {
      if (!(error instanceof JobFailedError)) throw error;
    },
  );
}

async function switchSchedule(scheduler: SchedulerClient, Name: string, State: 'ENABLED' | 'DISABLED') {
  const { FlexibleTimeWindow, ScheduleExpression, ScheduleExpressionTimezone, Target, GroupName } =
    await scheduler.send(new GetScheduleCommand({ Name }));
  await scheduler.send(
    new UpdateScheduleCommand({
      Name,
      State,
      GroupName,
      Target,
      FlexibleTimeWindow,
      ScheduleExpression,
      ScheduleExpressionTimezone,
    }),
  );
}

const switchSource = (aws: AwsRequests, id: string, Enabled: boolean) =>
  aws.send({
    service: 'lambda',
    method: 'PUT',
    path: `/2015-03-31/event-source-mappings/${id}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Enabled }),
  });
