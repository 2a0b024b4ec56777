import {
  GetScheduleCommand,
  ListSchedulesCommand,
  SchedulerClient,
  type SchedulerClientConfig,
} from '@aws-sdk/client-scheduler';

/** A schedule as EventBridge Scheduler has it. */
export interface DeployedSchedule {
  readonly name: string;
  readonly isEnabled: boolean;
  /** cron(…) or rate(…). */
  readonly expression: string;
  readonly timeZone?: string;
  /** The message that each tick sends. */
  readonly input: string;
  /** From when a rate counts. */
  readonly createdAt: number;
}

/** The schedules of a group: one request for each of them, and one for a hundred. Undefined where there is no such group. */
export async function readDeployedSchedules(
  group: string,
  config: SchedulerClientConfig,
): Promise<readonly DeployedSchedule[] | undefined> {
  const client = new SchedulerClient(config);
  try {
    const names: string[] = [];
    for (let NextToken: string | undefined; ; ) {
      const page = await client.send(new ListSchedulesCommand({ GroupName: group, NextToken }));
      names.push(...(page.Schedules ?? []).flatMap(({ Name }) => Name ?? []));
      NextToken = page.NextToken;
      if (NextToken === undefined) break;
    }
    return await Promise.all(names.map((name) => readOne(client, group, name)));
  } catch (error) {
    if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
    throw error;
  } finally {
    client.destroy();
  }
}

async function readOne(client: SchedulerClient, group: string, name: string): Promise<DeployedSchedule> {
  const found = await client.send(new GetScheduleCommand({ GroupName: group, Name: name }));
  return {
    name,
    isEnabled: found.State !== 'DISABLED',
    expression: found.ScheduleExpression ?? '',
    timeZone: found.ScheduleExpressionTimezone,
    input: found.Target?.Input ?? '',
    createdAt: (found.StartDate ?? found.CreationDate)?.getTime() ?? 0,
  };
}
