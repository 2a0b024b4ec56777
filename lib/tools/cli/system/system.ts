import { userInfo } from 'node:os';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { clientConfig } from '../../../aws/client-defaults.ts';
import type { ReadMetricHistory } from '../../../aws/metric-history.ts';
import { createOperatorEvents } from '../../../aws/operator-events.ts';
import type { ClientParts } from '../../../client/client-parts.ts';
import { sweptShards } from '../../../client/swept-shards.ts';
import type { ClockGuard } from '../../../protocol/clock-guard.ts';
import type { Clock, Events, JobQueue } from '../../../protocol/ports.ts';
import { routingFromEnvironment, settingsFromEnvironment } from '../../../settings/environment.ts';
import type { Settings } from '../../../settings/settings.ts';
import { resourceVariables, VARIABLE_PREFIX } from '../../../wire/environment.ts';
import { CliError } from '../cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { FoundSystem, SystemOptions } from './find-system.ts';
import { locateSystem } from './locate-system.ts';

export interface System extends ClientParts {
  readonly found: FoundSystem;
  readonly clock: Clock;
  readonly clockGuard: ClockGuard;
  readonly dynamoDb: DynamoDBClient;
  readonly actor: string;
  /** Undefined without a known bus, or if events are off. */
  readonly events: Events | undefined;
  readonly service: string | undefined;
  /** Undefined where there is no CloudWatch. */
  readonly metricHistory: ReadMetricHistory | undefined;
  queueUrl(): string;
  queueAt(url: string): JobQueue;
  close(): void;
}

/** Uses the shards that the reaper sweeps, because an operator's defaults may differ from the stack's. */
export async function openSystem(
  options: SystemOptions,
  terminal: Terminal,
  given: { readonly settings?: Settings; readonly found?: FoundSystem } = {},
): Promise<System> {
  const { clock, random } = terminal;
  const found = given.found ?? (await locateSystem(options, terminal.environment, terminal.directory));
  const declared = given.settings ?? settingsFromEnvironment(settingVariables(found.environment));
  const { tableName } = found;
  // Loaded late, because most commands answer before they need the AWS SDK.
  const [{ connect }, { createTableInspection }, { createQueueAge, isOnAws }, { createMetricHistory }] =
    await Promise.all([
      import('../../../aws/connect.ts'),
      import('../../../aws/dynamodb/table-inspection.ts'),
      import('../../../aws/sqs/queue-age.ts'),
      import('../../../aws/metric-history.ts'),
    ]);
  const { table, clockGuard, sqs, dynamoDb, queueAt, storeOf, close } = connect({
    tableName,
    settings: declared,
    clock,
    random,
    dynamodb: clientConfig(found.environment, 'DYNAMODB'),
    sqs: clientConfig(found.environment, 'SQS'),
  });
  try {
    const settings = { ...declared, shards: (await sweptShards(table)) ?? declared.shards };
    const queueUrl = () => {
      if (found.queueUrl !== undefined) return found.queueUrl;
      throw new CliError(
        'This command needs a queue, and none is named. Add --service NAME or --queue-url URL, or export LEASEHOLD_QUEUE_URL (outputs of the stack)',
      );
    };
    const actor = `cli-${operatorName()}`;
    const routing = routingFromEnvironment(found.environment);
    const config = clientConfig(found.environment, 'CLOUDWATCH');
    const service = found.environment[resourceVariables.serviceName];
    return {
      found,
      table,
      settings,
      clock,
      clockGuard,
      sqs,
      dynamoDb,
      routing,
      queueUrl,
      queueAt,
      close,
      inspection: createTableInspection({ client: dynamoDb, tableName }),
      actor,
      store: storeOf(actor, settings),
      events: eventsOf(found, settings, terminal),
      queue: () => queueAt(queueUrl(), routing),
      queueAge: createQueueAge({ queueUrl: found.queueUrl ?? '', clock, config }),
      service,
      metricHistory:
        isOnAws(found.queueUrl ?? '') || config.endpoint !== undefined
          ? createMetricHistory({ config, clock, service, queueUrl: found.queueUrl })
          : undefined,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function eventsOf({ environment }: FoundSystem, settings: Settings, terminal: Terminal): Events | undefined {
  const bus = environment[resourceVariables.eventBusName];
  const service = environment[resourceVariables.serviceName];
  if (!settings.eventsEnabled || !bus || !service) return undefined;
  const onProblem = (problem: string) => terminal.note(`${problem}\n`);
  return createOperatorEvents({ bus, service, onProblem, config: clientConfig(environment, 'EVENTBRIDGE') });
}

export const settingVariables = (environment: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith(VARIABLE_PREFIX)));

/** Part of `changedBy`, so that a row shows whose command changed it last. */
function operatorName(): string {
  try {
    return userInfo().username.replace(/[^A-Za-z0-9._-]/g, '_');
  } catch {
    return 'operator';
  }
}
