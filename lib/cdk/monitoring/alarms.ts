import {
  Alarm,
  AlarmRule,
  AlarmState,
  ComparisonOperator,
  CompositeAlarm,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Construct } from 'constructs';
import { type AlarmProps, alarmDefinitions } from './alarm-definitions.ts';
import type { Watched } from './watched.ts';

const DEFAULT_RUNBOOK = 'docs/runbook.md';

/** The alarms, by construct id. Each description names its paragraph of the runbook. */
export function createAlarms(
  scope: Construct,
  watched: Watched,
  props: AlarmProps,
): Readonly<Record<string, Alarm>> {
  const home = new Construct(scope, 'Alarms');
  const { alarmTopic, runbookUrl = DEFAULT_RUNBOOK } = props;
  const { serviceName } = watched.metered;
  const definitions = alarmDefinitions(watched, props);
  const alarms = Object.entries(definitions).map(([id, definition]): [string, Alarm] => {
    const alarm = new Alarm(home, id, {
      alarmName: `${serviceName}: ${definition.title}`,
      alarmDescription: `${definition.says} Runbook: ${runbookUrl}#${definition.anchor}`,
      metric: definition.metric,
      threshold: definition.threshold,
      comparisonOperator: definition.comparison ?? ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: definition.periods ?? 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      actionsEnabled: definition.silent !== true,
    });
    return [id, alarm];
  });
  const audible =
    props.compositeAlarm === true
      ? [
          compositeOf(
            home,
            serviceName,
            alarms.filter(([id]) => definitions[id]?.silent !== true),
          ),
        ]
      : alarms.map(([, alarm]) => alarm);
  if (alarmTopic !== undefined)
    for (const alarm of audible) {
      const action = new SnsAction(alarmTopic);
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
    }
  return Object.fromEntries(alarms);
}

const compositeOf = (home: Construct, serviceName: string, alarms: readonly [string, Alarm][]) =>
  new CompositeAlarm(home, 'Any', {
    compositeAlarmName: `${serviceName}: something is wrong`,
    alarmDescription:
      'One of the alarms of this job system has gone off; its own description says which paragraph to read.',
    alarmRule: AlarmRule.anyOf(...alarms.map(([, alarm]) => AlarmRule.fromAlarm(alarm, AlarmState.ALARM))),
  });
