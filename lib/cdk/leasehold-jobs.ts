import { Duration, Lazy, Stack, Token } from 'aws-cdk-lib';
import type { Alarm, Dashboard, Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus, type IEventBus, type IRuleTarget, type Rule } from 'aws-cdk-lib/aws-events';
import type {
  EventSourceMapping,
  IFunction,
  Function as LambdaFunction,
  ProvisionedPollerConfig,
} from 'aws-cdk-lib/aws-lambda';
import type { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import type { IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { toEnvironment } from '../settings/environment.ts';
import { type RecoveryBound, recoveryBound } from '../settings/recovery-bound.ts';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { defined } from '../wire/defined.ts';
import { reaperVariables, settingVariable } from '../wire/environment.ts';
import type { PoolMetricName } from '../wire/metrics.ts';
import { didYouMean } from '../wire/nearest.ts';
import { DEFAULT_POOL, type Pools } from '../wire/pools.ts';
import { DEAD_LETTER_BATCH_SIZE, WAKE_BATCH_SIZE } from '../wire/queues.ts';
import { type AccessTargets, functionAccess } from './access.ts';
import { acknowledgeCompliance } from './acknowledge.ts';
import { adoptWorker } from './adopt-worker.ts';
import type { FunctionName } from './bundling.ts';
import { type DoneListener, ListenedTypes, ruleForDone } from './done-listeners.ts';
import { refusedChanges } from './escape-hatches.ts';
import { feed } from './feed.ts';
import { allowLogs, createDeadLetter, createReaper, createWorker, warnOfStarvedReaper } from './functions.ts';
import { addQueues, addWakeQueue } from './job-queues.ts';
import { addSchedules, createScheduleGroup, type JobSchedules } from './job-schedules.ts';
import { addTable, refuseTooFewUnits, warnOfLoad } from './jobs-table.ts';
import { LeaseholdGrants } from './leasehold-grants.ts';
import { createAlarms } from './monitoring/alarms.ts';
import { createDashboard } from './monitoring/dashboard.ts';
import { MeteredConstruct } from './monitoring/metered-construct.ts';
import type { Watched } from './monitoring/watched.ts';
import { warnOfMissingEndpoints, warnOfMissingFips } from './network.ts';
import { createOutputs, type Outputs } from './outputs.ts';
import { checkPools } from './pools/check-pools.ts';
import { addCompute, addPoolQueues, type JobPool, routesOf } from './pools/pools.ts';
import { checkProps } from './props/check-props.ts';
import type { LeaseholdJobsProps } from './props/leasehold-jobs-props.ts';
import { settingsFromProps } from './props/settings-from-props.ts';
import { refuseFewerShards, rememberShardsAtSynth, type Sharded, shardsKeyOf } from './props/shard-memory.ts';
import { scheduleReaper } from './reaper-schedule.ts';
import { aliasOf, shiftSlowly } from './worker-deployment.ts';

/** A job system: table, queues, worker, reaper and alarms. All of them are public, so that you can adjust them. */
export class LeaseholdJobs extends MeteredConstruct implements Sharded {
  override readonly serviceName: string;
  readonly settings: Settings;
  /** Time from a worker's death to the reclaim of its job. */
  readonly recoveryBound: RecoveryBound;
  /** @internal */
  readonly shardsKey: string | undefined;

  readonly table: TableV2;
  readonly queue: IQueue;
  readonly deadLetterQueue: Queue;
  /** Its messages start the next reaper. */
  readonly wakeQueue: Queue;
  readonly eventBus: IEventBus;

  /** The variables of your own worker or reaper process; see `grants.work` and `grants.reap`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly reaperFunction: LambdaFunction;
  readonly deadLetterFunction: LambdaFunction;
  readonly deadLetterSource: EventSourceMapping;
  readonly wakeSource: EventSourceMapping;
  /** Starts the reaper every minute, which also repairs a broken chain of wakes. */
  readonly schedule: CfnSchedule;
  /** Undefined without the prop `schedules`. */
  readonly schedules: JobSchedules | undefined;

  readonly alarms: Readonly<Record<string, Alarm>>;
  readonly dashboard: Dashboard | undefined;
  readonly grants: LeaseholdGrants;
  /** By name, without the default one. */
  readonly pools: Readonly<Record<string, JobPool>>;
  readonly outputs: Outputs;
  readonly #worker: { readonly fn: LambdaFunction; readonly source: EventSourceMapping } | undefined;
  readonly #doneTypes: ListenedTypes;
  readonly #routes: Pools;

  constructor(scope: Construct, id: string, props: LeaseholdJobsProps) {
    super(scope, id);
    checkProps(props);
    const { workerFunctionProps: { timeout, ...chosen } = {} } = props;
    this.settings = settingsFromProps(timeout === undefined ? props : { ...props, functionTimeout: timeout });
    this.recoveryBound = recoveryBound(this.settings);
    this.serviceName = props.serviceName ?? defaultServiceName(this);
    this.shardsKey = shardsKeyOf(this, this.serviceName);
    refuseFewerShards(this, this);
    const problems = checkPools(props.pools ?? {}, this.settings, props);
    if (problems.length > 0) throw new SettingsError(problems);
    warnOfLoad(this, this.settings, props);
    const requests = { ...this.settings, fips: props.fips };
    for (const network of [props, chosen]) warnOfMissingEndpoints(this, network, requests);
    warnOfMissingFips(this, props);
    warnOfStarvedReaper(this, this.settings, props);

    this.table = addTable(this, props);
    refuseTooFewUnits(this.table, this.settings);
    ({ queue: this.queue, deadLetterQueue: this.deadLetterQueue } = addQueues(this, this.settings, props));
    const poolQueues = addPoolQueues(this, props.pools ?? {}, this.settings, {
      ...props,
      deadLetterQueue: this.deadLetterQueue,
    });
    this.#routes = routesOf(poolQueues, this.settings);
    this.wakeQueue = addWakeQueue(this);
    this.eventBus = props.eventBus ?? EventBus.fromEventBusName(this, 'DefaultBus', 'default');

    this.#doneTypes = new ListenedTypes(this.settings.doneEvents);
    const environment = this.#environment(props);
    this.environment = { ...environment, [reaperVariables.wakeQueueUrl]: this.wakeQueue.queueUrl };
    const context = { ...props, environment, logLevel: this.settings.logLevel };
    allowLogs(this, props.logEncryptionKey);
    const worker = this.#createWorker(props, context);
    this.reaperFunction = createReaper(this, this.wakeQueue, props, context);
    this.deadLetterFunction = createDeadLetter(this, context);
    const functions = {
      worker,
      reaper: this.reaperFunction,
      'dead-letter': this.deadLetterFunction,
    } satisfies Record<FunctionName, LambdaFunction | undefined>;

    const scheduleGroup = createScheduleGroup(this, {
      tableName: this.table.tableName,
      queueUrl: this.queue.queueUrl,
      eventBusName: this.settings.eventsEnabled ? this.eventBus.eventBusName : undefined,
      pools: this.#routes,
    });
    const targets: AccessTargets = {
      table: this.table,
      queue: this.queue,
      poolQueues: Object.values(poolQueues).map(({ queue }) => queue),
      scaledQueues: Object.values(poolQueues)
        .filter(({ compute }) => compute?.kind === 'fargate')
        .map(({ queue }) => queue),
      deadLetterQueue: this.deadLetterQueue,
      wakeQueue: this.wakeQueue,
      eventBus: this.settings.eventsEnabled ? this.eventBus : undefined,
      encryptionKey: props.encryptionKey,
      scheduleGroup,
    };
    this.grants = new LeaseholdGrants(targets);
    const alias = worker && props.workerDeployment && aliasOf(worker);
    this.#worker = worker && {
      fn: worker,
      source: this.#feedWorker(alias ?? worker, targets, props.workerPollers),
    };
    const ofDeadLetters = { target: this.deadLetterFunction, access: functionAccess['dead-letter'], targets };
    this.deadLetterSource = feed(
      this,
      'DeadLetterSource',
      { queue: this.deadLetterQueue, ...ofDeadLetters },
      { batchSize: DEAD_LETTER_BATCH_SIZE, reportBatchItemFailures: true },
    );
    const ofWakes = { target: this.reaperFunction, access: functionAccess.reaper, targets };
    // With a maximum concurrency, Lambda would never slow its polling of an idle queue.
    this.wakeSource = feed(
      this,
      'WakeSource',
      { queue: this.wakeQueue, ...ofWakes },
      { batchSize: WAKE_BATCH_SIZE },
    );
    this.pools = addCompute(poolQueues, { jobs: this, props, targets, environment: this.environment });
    this.schedule = scheduleReaper(this, this);
    this.schedules =
      props.schedules === undefined || Object.keys(props.schedules).length === 0
        ? undefined
        : addSchedules(this, scheduleGroup, props.schedules, props);

    const watched: Watched = {
      metered: this,
      settings: this.settings,
      functions,
      queue: this.queue,
      deadLetterQueue: this.deadLetterQueue,
      wakeQueue: this.wakeQueue,
      table: this.table,
      pools: this.pools,
      scheduleDeadLetterQueue: this.schedules?.deadLetterQueue,
    };
    this.alarms = createAlarms(this, watched, props);
    if (alias) shiftSlowly(alias, props.workerDeployment, this.alarms);
    this.dashboard = this.#createDashboard(watched, props);
    this.outputs = createOutputs(this);
    this.node.addValidation({ validate: () => refusedChanges(this, functions) });
    acknowledgeCompliance(this);
    rememberShardsAtSynth(this);
  }

  /** Calls a target when a job of this type is done, with the job's id. */
  onJobDone(listener: DoneListener, target: IRuleTarget): Rule {
    const rule = ruleForDone(this, listener, target);
    this.#doneTypes.add(listener.type);
    return rule;
  }

  /** Runs the handlers; throws with `worker: 'none'`. */
  get workerFunction(): LambdaFunction {
    return this.#expectWorker('workerFunction').fn;
  }

  /** Feeds the worker function from the queue; throws with `worker: 'none'`. */
  get workerSource(): EventSourceMapping {
    return this.#expectWorker('workerSource').source;
  }

  #expectWorker(asked: string) {
    if (this.#worker === undefined)
      throw new SettingsError([
        `'${asked}' was asked for, and prop 'worker' is 'none'. Use 'grants.work' for the role of your containers, and 'environment' for their variables`,
      ]);
    return this.#worker;
  }

  override metricOfPool(name: PoolMetricName, pool: string, options?: MetricOptions): Metric {
    const known = Object.keys(this.#routes);
    if (!known.includes(pool))
      throw new SettingsError([
        `pool '${pool}' is unknown.${didYouMean(pool, known)} The pools are: ${known.join(', ') || 'none'}`,
      ]);
    return super.metricOfPool(name, pool, options);
  }

  #createWorker(props: LeaseholdJobsProps, context: Parameters<typeof createWorker>[3]) {
    if (props.worker === 'none') return undefined;
    return props.workerFunction === undefined
      ? createWorker(this, this.settings, props, context)
      : adoptWorker(props.workerFunction, this.settings, context.environment);
  }

  #createDashboard(watched: Watched, props: LeaseholdJobsProps): Dashboard | undefined {
    if (props.dashboard === false) return undefined;
    // The log group of a custom function is unknown here.
    const { worker } = watched.functions;
    const workerLogs = props.workerFunction === undefined ? worker?.logGroup.logGroupName : undefined;
    return createDashboard(this, { ...watched, alarms: this.alarms, workerLogs });
  }

  #environment({ fips }: LeaseholdJobsProps): Record<string, string> {
    const environment = toEnvironment({
      settings: this.settings,
      resources: {
        tableName: this.table.tableName,
        queueUrl: this.queue.queueUrl,
        serviceName: this.serviceName,
        eventBusName: this.eventBus.eventBusName,
      },
      routing: Object.keys(this.#routes).length > 0 ? { pool: DEFAULT_POOL, pools: this.#routes } : undefined,
    });
    // Lazy, because `onJobDone` adds types until synthesis.
    const doneEvents = Lazy.string({ produce: () => this.#doneTypes.toString() });
    return {
      ...environment,
      [settingVariable('doneEvents')]: doneEvents,
      ...defined({ AWS_USE_FIPS_ENDPOINT: fips === true ? 'true' : undefined }),
    };
  }

  #feedWorker(target: IFunction, targets: AccessTargets, pollers: ProvisionedPollerConfig | undefined) {
    const { batchSize, batchWindowMs, workerConcurrency } = this.settings;
    const fed = { queue: this.queue, target, access: functionAccess.worker, targets };
    return feed(this, 'WorkerSource', fed, {
      batchSize,
      maxBatchingWindow: Duration.millis(batchWindowMs),
      // Lambda allows only one of the two.
      maxConcurrency: pollers === undefined ? workerConcurrency : undefined,
      provisionedPollerConfig: pollers,
      reportBatchItemFailures: true,
    });
  }
}

function defaultServiceName(jobs: Construct): string {
  const stack = Stack.of(jobs);
  if (Token.isUnresolved(stack.stackName)) return jobs.node.path.replaceAll('/', '-');
  const within = jobs.node.scopes.slice(stack.node.scopes.length).map((scope) => scope.node.id);
  return [stack.stackName, ...within].join('-');
}
