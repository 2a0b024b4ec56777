import { clientConfig } from '../../../aws/client-defaults.ts';
import { defined } from '../../../wire/defined.ts';
import { poolVariables, resourceVariables } from '../../../wire/environment.ts';
import { poolsText } from '../../../wire/pools.ts';
import { scheduleGroupOf } from '../../../wire/schedule-group.ts';
import { CliError } from '../cli-error.ts';
import { type FoundSystem, findSystem, type SystemOptions } from './find-system.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export async function locateSystem(
  options: SystemOptions,
  environment: Environment,
  directory: string,
): Promise<FoundSystem> {
  const service = serviceIn(options, environment);
  if (service === undefined) return findSystem(options, environment, directory);
  if (options.table !== undefined)
    throw new CliError('Give either --service, which finds the table, or --table');
  const { findDeployment } = await import('../../../aws/find-deployment.ts');
  const config = clientConfig({ ...environment, ...defined({ AWS_REGION: options.region }) }, 'SCHEDULER');
  const { tableName, queueUrl, eventBusName, pools } = (await findDeployment(service, config)) ?? {};
  if (tableName === undefined)
    throw new CliError(
      `No deployment is named '${service}' in this account and region: there is no schedule group '${scheduleGroupOf(service)}' with a deployment's tags. Check --service (the stack's output ServiceName), --region and the account, or give --table and --queue-url`,
    );
  const found = defined({
    [resourceVariables.serviceName]: service,
    [resourceVariables.eventBusName]: eventBusName,
    [poolVariables.pools]: pools && poolsText(pools),
  });
  const named = { ...options, table: tableName, queueUrl: options.queueUrl ?? queueUrl };
  return findSystem(named, { ...environment, ...found }, directory);
}

/** A table that the shell names wins over its service, which then only names metrics. */
function serviceIn({ service, table }: SystemOptions, environment: Environment): string | undefined {
  if (service !== undefined) return service;
  return table === undefined && !environment[resourceVariables.tableName]
    ? environment[resourceVariables.serviceName] || undefined
    : undefined;
}
