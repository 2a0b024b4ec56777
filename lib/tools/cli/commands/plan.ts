import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { limitsFromEnvironment, settingsFromEnvironment } from '../../../settings/environment.ts';
import { beatIntervalMs } from '../../../settings/heartbeat-timing.ts';
import { resolveSettings, type Settings } from '../../../settings/settings.ts';
import { defined } from '../../../wire/defined.ts';
import { formatDuration } from '../../inspect/format-duration.ts';
import { type PlanSettings, planFor, type Workload } from '../../plan/plan.ts';
import { listPrices, type Prices } from '../../plan/prices.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  durationOption,
  numberOption,
  positiveOption,
  withExamples,
  withJson,
  withoutSystem,
} from '../define-command.ts';
import { showPlan } from '../show-plan.ts';
import { settingVariables } from '../system/system.ts';
import type { Output } from '../terminal/output.ts';

interface PlanOptions {
  readonly running?: number;
  readonly rate?: number;
  readonly duration?: number;
  readonly lease?: number;
  readonly heartbeat?: number;
  readonly payload: number;
  readonly result: number;
  readonly checkpoint: number;
  readonly checkpoints: number;
  readonly errors: number;
  readonly crashes: number;
  readonly host: 'lambda' | 'process';
  readonly memory: number;
  readonly dashboard?: boolean;
  readonly tracing?: boolean;
  readonly typesMeasured?: number;
  readonly vpcZones?: number;
  readonly customerKey?: boolean;
  readonly lambdaPools: number;
  readonly fargateHours: readonly number[];
  readonly prices?: string;
  readonly json?: boolean;
}

export function createCommand(context: CliContext): Command {
  const bytes = numberOption(0, 262_144);
  const command = new Command('plan')
    .description('estimate capacity, monthly cost, shards and recovery time')
    .option('--running <n>', 'jobs that run at the same time', positiveOption)
    .option('--rate <n>', 'jobs started per second', positiveOption)
    .option('--duration <duration>', 'how long one job runs', durationOption)
    .option('--lease <duration>', 'lease length (default: the setting leaseMs)', durationOption)
    .option(
      '--heartbeat <duration>',
      'time between heartbeats (default: the setting heartbeatMs, or a third of another lease)',
      durationOption,
    )
    .option('--payload <bytes>', 'payload of a job', bytes, 512)
    .option('--result <bytes>', 'result of a job', bytes, 64)
    .option('--checkpoint <bytes>', 'size of a checkpoint', bytes, 0)
    .option('--checkpoints <n>', 'checkpoints that a job stores', numberOption(0, 1_000_000), 0)
    .option('--errors <share>', 'share of attempts whose handler throws', share, 0)
    .option('--crashes <share>', 'share of attempts whose worker dies', share, 0)
    .addOption(
      new Option('--host <host>', 'where handlers run').choices(['lambda', 'process']).default('lambda'),
    )
    .option('--memory <mb>', 'memory of the worker function', numberOption(128, 10_240), 512)
    .option('--dashboard', 'with a dashboard beyond the three that are free in an account')
    .option('--tracing', 'with X-Ray traces')
    .option(
      '--types-measured <n>',
      'job types with their own wait and run times (metricsByType)',
      numberOption(0, 1000),
    )
    .option('--vpc-zones <n>', 'zones of the VPC that the functions run in', numberOption(0, 6))
    .option('--lambda-pools <n>', 'pools of functions besides the default one', numberOption(0, 100), 0)
    .option(
      '--fargate-hours <hours>',
      'hours a month of the containers of a Fargate pool, 1 vCPU and 2 GB each; repeat for each such pool',
      oneMore,
      [],
    )
    .option('--customer-key', 'with a KMS key that you manage')
    .option('--prices <file>', 'JSON file with your own prices; --json prints the keys')
    .action((options: PlanOptions) =>
      withoutSystem(context, options, async (output) => {
        plan(output, options, context.terminal.environment);
        return exitCodes.ok;
      }),
    );
  return withExamples(
    withJson(command),
    'leasehold plan --running 500 --duration 2m --lease 30s',
    'leasehold plan --rate 20 --duration 90s --payload 4096 --errors 0.02 --json',
  );
}

function plan(
  output: Output,
  options: PlanOptions,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const prices = options.prices === undefined ? listPrices : readPrices(options.prices);
  const workload = workloadOf(options);
  const settings = settingsOf(options, environment);
  const { leaseMs, heartbeatMs } = settings;
  const pools = { functions: options.lambdaPools, containerHours: options.fargateHours };
  const watching = { ...options, pools };
  const planned = planFor(workload, settings, prices, watching);
  output.json({ workload, leaseMs, heartbeatMs, plan: planned, prices });
  if (!output.isJson) showPlan(output, { workload, settings, plan: planned, prices });
}

const oneMore = (text: string, before: readonly number[]): readonly number[] => [
  ...before,
  positiveOption(text),
];

function share(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value < 1))
    throw new CliError(`'${text}' is not a share; give a number of at least 0 and below 1, such as 0.02`);
  return value;
}

/** Running = rate × duration: any two give the third, and three must agree. */
function workloadOf(options: PlanOptions): Workload {
  const { running, rate, duration } = options;
  const given = [running, rate, duration].filter((value) => value !== undefined).length;
  if (given < 2)
    throw new CliError(
      'Give two of --running, --rate and --duration; the third follows (running = rate × duration)',
    );
  if (duration === 0) throw new CliError('--duration must be above 0');
  if (running !== undefined && rate !== undefined && duration !== undefined) {
    const follows = (rate * duration) / 1000;
    if (Math.abs(follows - running) > 0.1 * running)
      throw new CliError(
        `${rate} jobs a second of ${formatDuration(duration)} each are ${Number(follows.toFixed(1))} running jobs, not ${running}. Leave out one of --running, --rate and --duration`,
      );
  }
  if (options.errors + options.crashes >= 1)
    throw new CliError('--errors and --crashes together must be below 1');
  return {
    rate: rate ?? (1000 * (running ?? 0)) / (duration ?? 1),
    durationMs: duration ?? (1000 * (running ?? 0)) / (rate ?? 1),
    payloadBytes: options.payload,
    resultBytes: options.result,
    checkpointBytes: options.checkpoint,
    checkpoints: options.checkpoints,
    errorShare: options.errors,
    crashShare: options.crashes,
    host: options.host === 'lambda' ? { kind: 'lambda', memoryMb: options.memory } : { kind: 'process' },
  };
}

function settingsOf(
  options: PlanOptions,
  environment: Readonly<Record<string, string | undefined>>,
): PlanSettings {
  const declared = settingsFromEnvironment(settingVariables(environment));
  const leased = options.lease === undefined ? declared : withLease(declared, options.lease);
  return resolveSettings(
    {
      ...leased,
      minLeaseMs: Math.min(leased.minLeaseMs, leased.leaseMs),
      maxRunning: 1,
      ...defined({ heartbeatMs: options.heartbeat }),
    },
    limitsFromEnvironment(environment),
  );
}

const withLease = (settings: Settings, leaseMs: number): Settings => ({
  ...settings,
  leaseMs,
  heartbeatMs: beatIntervalMs(leaseMs, settings),
});

function readPrices(file: string): Prices {
  let given: unknown;
  try {
    given = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new CliError(
      `--prices ${file} cannot be read as JSON (${cause instanceof Error ? cause.message : cause})`,
    );
  }
  const prices = { ...listPrices, ...(given as object) } as Record<string, unknown>;
  for (const [name, standard] of Object.entries(listPrices))
    if (typeof prices[name] !== typeof standard)
      throw new CliError(
        `--prices ${file}: '${name}' is ${JSON.stringify(prices[name])}; it must be a ${typeof standard}`,
      );
  const unknown = Object.keys(prices).find((name) => !Object.hasOwn(listPrices, name));
  if (unknown !== undefined)
    throw new CliError(
      `--prices ${file}: '${unknown}' is unknown. Allowed: ${Object.keys(listPrices).join(', ')}`,
    );
  return prices as Prices;
}
