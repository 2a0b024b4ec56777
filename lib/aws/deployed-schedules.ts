import {
  GetScheduleCommand,
  ListSchedulesCommand,
  SchedulerClient,
  type SchedulerClientConfig,
} from '@aws-sdk/client-scheduler';

export interface DeployedSchedule {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly expression: string;
  readonly timeZone?: string;
  readonly input: string;
  /** Rates count from here. */
  readonly createdAt: number;
}

/** One request per schedule, plus one per hundred. Undefined without such a group. */
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
