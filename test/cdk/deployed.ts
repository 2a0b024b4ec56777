import { type App, Duration } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { FunctionName } from '../../lib/cdk/bundling.ts';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import { buildBundles } from '../../lib/tools/dev/bundles.ts';
import { LambdaFunction } from '../../lib/tools/dev/lambda-host/lambda-function.ts';
import type { OutputLine } from '../../lib/tools/dev/lambda-host/output-line.ts';
import { settingVariable } from '../../lib/wire/environment.ts';
import { type LoggingConfig, lambdaVariables } from '../support/as-on-lambda.ts';
import { type AlarmProperties, alarmsOf } from './alarms-of.ts';
import { type Gate, type GatedEngines, type GatedPools, startGatedEngines } from './gated-engines.ts';
import { permissionsOf } from './policies.ts';
import { flat, newApp, resourceOf, someEnv, someJobs, someKey } from './support.ts';

/** The functions of a synthesized stack, as processes on real engines, each with the environment and the policy of the template. */
export interface Deployed extends GatedEngines {
  readonly functions: Readonly<Record<FunctionName, DeployedFunction>>;
  /** The worker again, with the same bundle and gate, `batchConcurrency` 10 and a heartbeat every second. */
  readonly wideWorker: LambdaFunction;
  /** What the functions wrote to their logs. */
  readonly lines: readonly OutputLine[];
  /** The alarms of the template, by construct id. */
  readonly alarms: Readonly<Record<string, AlarmProperties>>;
}

interface DeployedFunction extends LambdaFunction {
  readonly codeDir: string;
  /** What its policy in the template allows. */
  readonly permissions: readonly string[];
  readonly gate: Gate;
}

const policies: Record<FunctionName, RegExp> = {
  worker: /JobsWorkerRole/,
  reaper: /JobsReaperRole/,
  'dead-letter': /JobsDeadLetterRole/,
};

/** Settings under which every path of the functions is short: one sweep, and no time for a second message. */
const short = { functionTimeout: Duration.seconds(20), batchSize: 2 } as const;

const wide = {
  [settingVariable('batchSize')]: '10',
  [settingVariable('batchConcurrency')]: '10',
  [settingVariable('heartbeatMs')]: '1000',
};

/** A network needs the app. */
type DeployProps = LeaseholdJobsProps | ((app: App) => LeaseholdJobsProps);

const propsOf = (props: DeployProps, app: App): LeaseholdJobsProps =>
  typeof props === 'function' ? props(app) : props;

function synthesizeFunctions(jobsModule: string, props: DeployProps) {
  const app = newApp();
  const stack = new LeaseholdStack(app, 'Leasehold', {
    env: someEnv,
    jobs: { jobs: jobsModule, ...short, encryptionKey: someKey(app), ...propsOf(props, app) },
  });
  const template = Template.fromStack(stack);
  const { jobs } = stack;
  const partOf = (fn: LeaseholdStack['jobs']['workerFunction']) => {
    const { Properties } = resourceOf({ stack, jobs, template }, fn);
    const { Variables } = flat(Properties.Environment) as { Variables: Record<string, string> };
    return {
      variables: { ...Variables, ...lambdaVariables(Properties.LoggingConfig as LoggingConfig) },
      timeoutMs: Number(Properties.Timeout) * 1000,
      memoryMb: Number(Properties.MemorySize),
      handler: String(Properties.Handler),
    };
  };
  return {
    settings: jobs.settings,
    template,
    alarms: alarmsOf({ stack, jobs, template }),
    parts: {
      worker: partOf(jobs.workerFunction),
      reaper: partOf(jobs.reaperFunction),
      'dead-letter': partOf(jobs.deadLetterFunction),
    } satisfies Record<FunctionName, unknown>,
  };
}

export async function deploy(
  jobsModule = someJobs,
  props: DeployProps = {},
  pools: GatedPools = {},
): Promise<Deployed> {
  const { settings, template, alarms, parts } = synthesizeFunctions(jobsModule, props);
  const bundles = await buildBundles(Object.keys(parts), { jobs: jobsModule });
  const engines = await startGatedEngines(settings, pools);
  const lines: OutputLine[] = [];
  const functionOf = (name: FunctionName, gate: Gate, overrides: Readonly<Record<string, string>> = {}) => {
    const { variables, ...part } = parts[name];
    const codeDir = bundles.folder(name);
    return new LambdaFunction({
      functionName: name,
      concurrency: 1,
      environment: { ...variables, ...gate.environment, ...overrides },
      ...part,
      codeDir,
      observe: (event) => event.kind === 'output' && lines.push(event.line),
    });
  };
  const start = async (name: FunctionName): Promise<DeployedFunction> => {
    const permissions = permissionsOf(template, policies[name]);
    const gate = await engines.gateFor(permissions);
    // Not spread: what a class has on its prototype would be lost.
    return Object.assign(functionOf(name, gate), { codeDir: bundles.folder(name), permissions, gate });
  };
  const functions = {
    worker: await start('worker'),
    reaper: await start('reaper'),
    'dead-letter': await start('dead-letter'),
  };
  const wideWorker = functionOf('worker', functions.worker.gate, wide);
  return {
    ...engines,
    functions,
    wideWorker,
    lines,
    alarms,
    async stop() {
      await Promise.all([...Object.values(functions), wideWorker].map((each) => each.stop()));
      await engines.stop();
      bundles.remove();
    },
  };
}
