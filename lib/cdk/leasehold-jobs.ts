import { Duration, Lazy, Stack, Token } from 'aws-cdk-lib';
import type { Alarm, Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnGlobalTable, type TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus, type IEventBus, type IRuleTarget, type Rule } from 'aws-cdk-lib/aws-events';
import {
  CfnFunction,
  EventSourceMapping,
  type Function as LambdaFunction,
  type ProvisionedPollerConfig,
} from 'aws-cdk-lib/aws-lambda';
import type { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import { CfnQueue, type Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { toEnvironment } from '../settings/environment.ts';
import { type RecoveryBound, recoveryBound } from '../settings/recovery-bound.ts';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { settingVariable } from '../wire/environment.ts';
import { DEAD_LETTER_BATCH_SIZE, WAKE_BATCH_SIZE } from '../wire/queues.ts';
import { type AccessTargets, functionAccess, grantAccess } from './access.ts';
import type { FunctionName } from './bundling.ts';
import { type DoneListener, ListenedTypes, ruleForDone } from './done-listeners.ts';
import { createDeadLetter, createReaper, createWorker } from './functions.ts';
import { addQueues, addWakeQueue } from './job-queues.ts';
import { addSchedules, type JobSchedules } from './job-schedules.ts';
import { addTable, refuseTooFewUnits, warnOfFewPartitions } from './jobs-table.ts';
import { LeaseholdGrants } from './leasehold-grants.ts';
import { createAlarms } from './monitoring/alarms.ts';
import { createDashboard } from './monitoring/dashboard.ts';
import { MeteredConstruct } from './monitoring/metered-construct.ts';
import type { Watched } from './monitoring/watched.ts';
import { createOutputs, type Outputs } from './outputs.ts';
import { checkProps, refusals } from './props/check-props.ts';
import type { LeaseholdJobsProps } from './props/leasehold-jobs-props.ts';
import { settingsFromProps } from './props/settings-from-props.ts';
import { refuseFewerShards, rememberShardsAtSynth, type Sharded, shardsKeyOf } from './props/shard-memory.ts';
import { scheduleReaper } from './reaper-schedule.ts';

/** The oldest Node of a worker function of the user's own. */
const OLDEST_NODE = 22;

/**
 * A job system: table, queues, worker, reaper, dead-letter consumer, alarms and dashboard. Everything it creates is a
 * public child, to be adjusted where the props do not reach.
 */
export class LeaseholdJobs extends MeteredConstruct implements Sharded {
  override readonly serviceName: string;
  readonly settings: Settings;
  /** From a worker's death to the reclaim of its job. */
  readonly recoveryBound: RecoveryBound;
  readonly shardsKey: string | undefined;

  readonly table: TableV2;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  /** Its messages start the next reaper. */
  readonly wakeQueue: Queue;
  readonly eventBus: IEventBus;

  /** Every variable that a worker needs: for a process or container of your own, with `grants.work`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly reaperFunction: LambdaFunction;
  readonly deadLetterFunction: LambdaFunction;
  readonly deadLetterSource: EventSourceMapping;
  readonly wakeSource: EventSourceMapping;
  /** Starts the reaper every minute, and with it a chain of wakes that was broken. */
  readonly schedule: CfnSchedule;
  /** Recurring jobs. Undefined where the prop `schedules` gives none. */
  readonly schedules: JobSchedules | undefined;

  readonly alarms: Readonly<Record<string, Alarm>>;
  /** Undefined unless the prop `dashboard` asks for one. */
  readonly dashboard: Dashboard | undefined;
  /** Permissions for producers, containers that work, operators and observers. */
  readonly grants: LeaseholdGrants;
  /** What users of the system need to know, as outputs of the stack. */
  readonly outputs: Outputs;
  readonly #worker: { readonly fn: LambdaFunction; readonly source: EventSourceMapping } | undefined;
  readonly #doneTypes: ListenedTypes;

  constructor(scope: Construct, id: string, props: LeaseholdJobsProps) {
    super(scope, id);
    checkProps(props);
    this.settings = settingsFromProps(props);
    this.recoveryBound = recoveryBound(this.settings);
    this.serviceName = props.serviceName ?? defaultServiceName(this);
    this.shardsKey = shardsKeyOf(this, this.serviceName);
    refuseFewerShards(this, this);
    warnOfFewPartitions(this, this.settings, props);

    this.table = addTable(this, props);
    refuseTooFewUnits(this.table, this.settings);
    ({ queue: this.queue, deadLetterQueue: this.deadLetterQueue } = addQueues(this, this.settings, props));
    this.wakeQueue = addWakeQueue(this);
    this.eventBus = props.eventBus ?? EventBus.fromEventBusName(this, 'DefaultBus', 'default');

    this.#doneTypes = new ListenedTypes(this.settings.doneEvents);
    this.environment = this.#environment();
    const context = { ...props, environment: this.environment };
    const worker = this.#createWorker(props, context);
    this.reaperFunction = createReaper(
      this,
      { wakeQueue: this.wakeQueue, reservedConcurrency: props.reaperReservedConcurrency },
      context,
    );
    this.deadLetterFunction = createDeadLetter(this, context);
    const functions = {
      worker,
      reaper: this.reaperFunction,
      'dead-letter': this.deadLetterFunction,
    } satisfies Record<FunctionName, LambdaFunction | undefined>;

    const targets: AccessTargets = {
      table: this.table,
      queue: this.queue,
      deadLetterQueue: this.deadLetterQueue,
      wakeQueue: this.wakeQueue,
      eventBus: this.settings.eventsEnabled ? this.eventBus : undefined,
      encryptionKey: props.encryptionKey,
    };
    this.grants = new LeaseholdGrants(targets);
    this.#worker = worker && {
      fn: worker,
      source: this.#feedWorker(worker, targets, props.workerPollers),
    };
    this.deadLetterSource = this.#feedDeadLetter(targets);
    this.wakeSource = this.#feedReaper(targets);
    this.schedule = scheduleReaper(this, this);
    this.schedules =
      props.schedules === undefined || Object.keys(props.schedules).length === 0
        ? undefined
        : addSchedules(this, props.schedules, props);

    const watched: Watched = {
      metered: this,
      settings: this.settings,
      functions,
      queue: this.queue,
      deadLetterQueue: this.deadLetterQueue,
      wakeQueue: this.wakeQueue,
      table: this.table,
      scheduleDeadLetterQueue: this.schedules?.deadLetterQueue,
    };
    this.alarms = createAlarms(this, watched, props);
    this.dashboard = this.#createDashboard(watched, props);
    this.outputs = createOutputs(this);
    this.node.addValidation({ validate: () => this.#refusedByEscapeHatch() });
    rememberShardsAtSynth(this);
  }

  /**
   * Calls a target when a job of a type is done: a rule on the bus of events, and the type's events switched on. The event
   * tells the job's id; its result is read with the client.
   */
  onJobDone(listener: DoneListener, target: IRuleTarget): Rule {
    const rule = ruleForDone(this, listener, target);
    this.#doneTypes.add(listener.type);
    return rule;
  }

  /** The function that runs the handlers. There is none with `worker: 'none'`. */
  get workerFunction(): LambdaFunction {
    return this.#expectWorker('workerFunction').fn;
  }

  /** What feeds the worker function from the queue. There is none with `worker: 'none'`. */
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

  #createWorker(props: LeaseholdJobsProps, context: Parameters<typeof createWorker>[3]) {
    if (props.worker === 'none') return undefined;
    return props.workerFunction === undefined
      ? createWorker(this, this.settings, props, context)
      : this.#adopt(props.workerFunction, context.environment);
  }

  #createDashboard(watched: Watched, props: LeaseholdJobsProps): Dashboard | undefined {
    if (props.dashboard !== true) return undefined;
    // Where a function of the user's own logs is not known here.
    const { worker } = watched.functions;
    const workerLogs = props.workerFunction === undefined ? worker?.logGroup.logGroupName : undefined;
    return createDashboard(this, { ...watched, alarms: this.alarms, workerLogs });
  }

  #environment(): Record<string, string> {
    const environment = toEnvironment({
      settings: this.settings,
      resources: {
        tableName: this.table.tableName,
        queueUrl: this.queue.queueUrl,
        serviceName: this.serviceName,
        eventBusName: this.eventBus.eventBusName,
      },
    });
    // Known when the app is synthesized: `onJobDone` adds to it.
    const doneEvents = Lazy.string({ produce: () => this.#doneTypes.toString() });
    return { ...environment, [settingVariable('doneEvents')]: doneEvents };
  }

  /** Makes a user's function the worker. */
  #adopt(worker: LambdaFunction, environment: Readonly<Record<string, string>>): LambdaFunction {
    const timeoutMs = worker.timeout?.toMilliseconds();
    if (timeoutMs !== this.settings.functionTimeoutMs)
      throw new SettingsError([
        `the timeout of 'workerFunction' is ${timeoutMs ?? 'the default of 3000'} ms, and 'functionTimeout' is ${this.settings.functionTimeoutMs} ms; they must be the same, because deadlines and the queue's visibility timeout follow from it. Set both to the same Duration`,
      ]);
    const [, major] = /^nodejs(\d+)\.x$/.exec(worker.runtime.name) ?? [];
    if (major !== undefined && Number(major) < OLDEST_NODE)
      throw new SettingsError([
        `the runtime of 'workerFunction' is ${worker.runtime.name}; Leasehold needs Node ${OLDEST_NODE} or newer. Use Runtime.NODEJS_24_X`,
      ]);
    for (const [name, value] of Object.entries(environment)) worker.addEnvironment(name, value);
    const resource = worker.node.defaultChild;
    if (resource instanceof CfnFunction) resource.recursiveLoop = 'Allow';
    return worker;
  }

  #feedWorker(
    worker: LambdaFunction,
    targets: AccessTargets,
    pollers: ProvisionedPollerConfig | undefined,
  ): EventSourceMapping {
    const { batchSize, batchWindowMs, workerConcurrency } = this.settings;
    const grant = grantAccess(worker, functionAccess.worker, targets);
    const source = new EventSourceMapping(this, 'WorkerSource', {
      target: worker,
      eventSourceArn: this.queue.queueArn,
      batchSize,
      maxBatchingWindow: Duration.millis(batchWindowMs),
      // Lambda allows one or the other.
      maxConcurrency: pollers === undefined ? workerConcurrency : undefined,
      provisionedPollerConfig: pollers,
      reportBatchItemFailures: true,
    });
    grant.applyBefore(source);
    return source;
  }

  #feedDeadLetter(targets: AccessTargets): EventSourceMapping {
    const grant = grantAccess(this.deadLetterFunction, functionAccess['dead-letter'], targets);
    const source = new EventSourceMapping(this, 'DeadLetterSource', {
      target: this.deadLetterFunction,
      eventSourceArn: this.deadLetterQueue.queueArn,
      batchSize: DEAD_LETTER_BATCH_SIZE,
      reportBatchItemFailures: true,
    });
    grant.applyBefore(source);
    return source;
  }

  /** No maximum of concurrency, here and for dead letters: with one, Lambda never polls an idle queue less often. */
  #feedReaper(targets: AccessTargets): EventSourceMapping {
    const grant = grantAccess(this.reaperFunction, functionAccess.reaper, targets);
    const source = new EventSourceMapping(this, 'WakeSource', {
      target: this.reaperFunction,
      eventSourceArn: this.wakeQueue.queueArn,
      batchSize: WAKE_BATCH_SIZE,
    });
    grant.applyBefore(source);
    return source;
  }

  /** What the props do not offer can still be set on the children; these two would break claims. */
  #refusedByEscapeHatch(): string[] {
    const problems: string[] = [];
    const table = this.table.node.defaultChild;
    if (table instanceof CfnGlobalTable) {
      const replicas: unknown = Stack.of(this).resolve(table.replicas);
      if (Array.isArray(replicas) && replicas.length > 1) problems.push(refusals.replicas);
    }
    for (const fn of [this.#worker?.fn, this.reaperFunction, this.deadLetterFunction])
      if (
        fn?.node.defaultChild instanceof CfnFunction &&
        fn.node.defaultChild.capacityProviderConfig !== undefined
      )
        problems.push(refusals.managedInstances);
    for (const { node } of [this.queue, this.deadLetterQueue])
      if (node.defaultChild instanceof CfnQueue && node.defaultChild.fifoQueue === true)
        problems.push(refusals.fifo);
    return problems;
  }
}

/** Unique in an account and region: the stack's name, and the path within the stack. */
function defaultServiceName(jobs: Construct): string {
  const stack = Stack.of(jobs);
  if (Token.isUnresolved(stack.stackName)) return jobs.node.path.replaceAll('/', '-');
  const within = jobs.node.scopes.slice(stack.node.scopes.length).map((scope) => scope.node.id);
  return [stack.stackName, ...within].join('-');
}
