import { Stack } from 'aws-cdk-lib';
import { CfnFunction, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { VARIABLE_PREFIX } from '../wire/environment.ts';
import { variablesOf } from './escape-hatches.ts';

const OLDEST_NODE = 22;

export function adoptWorker(
  worker: LambdaFunction,
  settings: Settings,
  environment: Readonly<Record<string, string>>,
): LambdaFunction {
  const problems = problemsOf(worker, settings);
  if (problems.length > 0) throw new SettingsError(problems);
  for (const [name, value] of Object.entries(environment)) worker.addEnvironment(name, value);
  const resource = worker.node.defaultChild;
  if (resource instanceof CfnFunction) {
    resource.recursiveLoop = 'Allow';
    followLogLevel(resource, settings);
  }
  return worker;
}

function problemsOf(worker: LambdaFunction, { functionTimeoutMs }: Settings): string[] {
  const problems = Object.keys(variablesOf(worker))
    .filter((name) => name.startsWith(VARIABLE_PREFIX))
    .map(
      (name) =>
        `'workerFunction' has the variable ${name}; variables that begin with ${VARIABLE_PREFIX} are Leasehold's own. Set the prop of that name instead, or remove it`,
    );
  const timeoutMs = worker.timeout?.toMilliseconds();
  if (timeoutMs !== functionTimeoutMs)
    problems.push(
      `the timeout of 'workerFunction' is ${timeoutMs ?? 'the default of 3000'} ms, and 'functionTimeout' is ${functionTimeoutMs} ms; they must be the same, because deadlines and the queue's visibility timeout follow from it. Set both to the same Duration`,
    );
  const [, major] = /^nodejs(\d+)\.x$/.exec(worker.runtime.name) ?? [];
  if (major !== undefined && Number(major) < OLDEST_NODE)
    problems.push(
      `the runtime of 'workerFunction' is ${worker.runtime.name}; Leasehold needs Node ${OLDEST_NODE} or newer. Use Runtime.NODEJS_24_X`,
    );
  return problems;
}

/** With JSON logs and no level, Lambda passes INFO to Powertools, which overrides the setting. */
function followLogLevel(resource: CfnFunction, { logLevel }: Settings): void {
  const { logFormat, applicationLogLevel } = Stack.of(resource).resolve(resource.loggingConfig) ?? {};
  if (logFormat === 'JSON' && applicationLogLevel === undefined)
    resource.addPropertyOverride('LoggingConfig.ApplicationLogLevel', logLevel);
}
