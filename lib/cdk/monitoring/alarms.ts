import { Annotations } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { type AlarmProps, alarmDefinitions } from './alarm-definitions.ts';
import type { Watched } from './watched.ts';

const DEFAULT_RUNBOOK = 'https://unpkg.com/leasehold/docs/operating/runbook.md';

export function createAlarms(
  scope: Construct,
  watched: Watched,
  props: AlarmProps,
): Readonly<Record<string, Alarm>> {
  const home = new Construct(scope, 'Alarms');
  const {
    alarmTopic,
    pageTopic = alarmTopic,
    ticketTopic = alarmTopic,
    runbookUrl = DEFAULT_RUNBOOK,
  } = props;
  if (pageTopic === undefined || ticketTopic === undefined) warnOfSilence(scope);
  const { serviceName } = watched.metered;
  const definitions = alarmDefinitions(watched, props);
  const alarms = Object.entries(definitions).map(([id, definition]): [string, Alarm] => {
    const alarm = new Alarm(home, id, {
      alarmName: `${serviceName}: ${definition.title}${definition.pool === undefined ? '' : `: pool ${definition.pool}`}`,
      alarmDescription: `${definition.description} First: leasehold ${definition.first} --service ${serviceName}. Runbook: ${runbookUrl}#${definition.title.toLowerCase().replaceAll(' ', '-')}`,
      metric: definition.metric,
      threshold: definition.threshold,
      comparisonOperator: definition.comparison ?? ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: definition.periods ?? 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      actionsEnabled: definition.silent !== true,
    });
    return [id, alarm];
  });
  for (const [id, alarm] of alarms) notify(alarm, definitions[id]?.pages === true ? pageTopic : ticketTopic);
  return Object.fromEntries(alarms);
}

function notify(alarm: Alarm, topic: ITopic | undefined): void {
  if (topic === undefined) return;
  const action = new SnsAction(topic);
  alarm.addAlarmAction(action);
  alarm.addOkAction(action);
}

const warnOfSilence = (scope: Construct) =>
  Annotations.of(scope).addWarningV2(
    'leasehold:alarms',
    "some alarms notify no one. Set 'alarmTopic' to an SNS topic that people read, or 'pageTopic' and 'ticketTopic'; for a system that no one operates, acknowledge this warning",
  );
