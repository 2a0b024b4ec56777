import { join } from 'node:path';
import { App, Duration } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { FunctionName } from '../../lib/cdk/bundling.ts';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import {
  createLambdaFunction,
  type LambdaFunction,
} from '../../lib/tools/dev/lambda-host/lambda-function.ts';
import type { OutputLine } from '../../lib/tools/dev/lambda-host/output-line.ts';
import { type AlarmProperties, alarmsOf } from './alarms-of.ts';
import { type Gate, type GatedEngines, startGatedEngines } from './gated-engines.ts';
import { permissionsOf } from './policies.ts';
import { featureFlags, flat, resourceOf, someEnv, someJobs, someKey } from './support.ts';

/** The bundles of a synthesized stack, as processes on real engines, each with the environment and the policy of the template. */
export interface Deployed extends GatedEngines {
  readonly functions: Readonly<Record<FunctionName, DeployedFunction>>;
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

/** Bundles for real, which the other suites leave out. */
function synthesizeBundles(jobsModule: string) {
  const app = new App({
    context: { ...featureFlags, 'aws:cdk:enable-asset-metadata': true },
    analyticsReporting: false,
  });
  const stack = new LeaseholdStack(app, 'Leasehold', {
    env: someEnv,
    jobs: { jobs: jobsModule, ...short, encryptionKey: someKey(app) },
  });
  const { directory } = app.synth();
  const template = Template.fromStack(stack);
  const { jobs } = stack;
  const partOf = (fn: LeaseholdStack['jobs']['workerFunction']) => {
    const { Metadata, Properties } = resourceOf({ stack, jobs, template }, fn);
    const { 'aws:asset:path': asset } = Metadata as Record<string, string>;
    const { Variables } = flat(Properties.Environment) as { Variables: Record<string, string> };
    return {
      codeDir: join(directory, asset ?? ''),
      variables: Variables,
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

export async function deploy(jobsModule = someJobs): Promise<Deployed> {
  const { settings, template, alarms, parts } = synthesizeBundles(jobsModule);
  const engines = await startGatedEngines(settings);
  const lines: OutputLine[] = [];
  const start = async (name: FunctionName): Promise<DeployedFunction> => {
    const permissions = permissionsOf(template, policies[name]);
    const gate = await engines.gateFor(permissions);
    const { variables, ...part } = parts[name];
    const fn = createLambdaFunction({
      functionName: name,
      concurrency: 1,
      environment: { ...variables, ...gate.environment },
      ...part,
      observe: (event) => event.kind === 'output' && lines.push(event.line),
    });
    // Not spread: what a class has on its prototype would be lost.
    return Object.assign(fn, { codeDir: part.codeDir, permissions, gate });
  };
  const functions = {
    worker: await start('worker'),
    reaper: await start('reaper'),
    'dead-letter': await start('dead-letter'),
  };
  return {
    ...engines,
    functions,
    lines,
    alarms,
    async stop() {
      await Promise.all(Object.values(functions).map((each) => each.stop()));
      await engines.stop();
    },
  };
}
