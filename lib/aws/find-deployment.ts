import {
  GetScheduleGroupCommand,
  ListTagsForResourceCommand,
  SchedulerClient,
  type SchedulerClientConfig,
} from '@aws-sdk/client-scheduler';
import { type Deployment, deploymentTags, poolsInTags, scheduleGroupOf } from '../wire/schedule-group.ts';

/** Two requests. Undefined if this account and region has no such deployment. */
export async function findDeployment(
  service: string,
  config: SchedulerClientConfig,
): Promise<Deployment | undefined> {
  const client = new SchedulerClient(config);
  try {
    const { Arn } = await client.send(new GetScheduleGroupCommand({ Name: scheduleGroupOf(service) }));
    const { Tags = [] } = await client.send(new ListTagsForResourceCommand({ ResourceArn: Arn }));
    const tags = Object.fromEntries(Tags.map(({ Key = '', Value = '' }) => [Key, Value]));
    return {
      tableName: tags[deploymentTags.tableName],
      queueUrl: tags[deploymentTags.queueUrl],
      eventBusName: tags[deploymentTags.eventBusName],
      pools: poolsInTags(tags),
    };
  } catch (error) {
    if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
    throw error;
  } finally {
    client.destroy();
  }
}
