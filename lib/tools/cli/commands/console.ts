import { Command } from 'commander';
import { readPools } from '../../../client/pool-states.ts';
import { scanCostOf } from '../../../client/scan-cost.ts';
import { resourceVariables } from '../../../wire/environment.ts';
import type { Where } from '../../console/page-messages.ts';
import type { Metrics } from '../../console/start-console.ts';
import { commandLine } from '../../dev/command-line.ts';
import { counted } from '../../inspect/counted.ts';
import { formatDollars } from '../../plan/format-dollars.ts';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, numberOption, onSystem, withExamples, withSystem } from '../define-command.ts';
import { type FoundSystem, findLocalState, type SystemOptions } from '../system/find-system.ts';
import type { System } from '../system/system.ts';
import { createOutput, type Output } from '../terminal/output.ts';

interface ConsoleCommandOptions extends SystemOptions {
  readonly port?: number;
  readonly write?: boolean;
  readonly scan?: boolean;
}

export function createCommand(context: CliContext): Command {
  const command = new Command('console')
    .description('serve a live page of a deployed system on this machine; a local stack already has one')
    .option('--port <port>', 'port to serve on (default: a free one)', numberOption(0, 65_535))
    .option('--write', 'let the page cancel, take back and revive jobs; without it, the page is read-only')
    .option('--scan', 'read the whole table once, to list jobs that have finished')
    .action(async (options: ConsoleCommandOptions) => {
      const { terminal } = context;
      const output = createOutput(terminal, options);
      const local = namesNoSystem(options) ? findLocalState(terminal.directory) : undefined;
      if (local !== undefined && local.consoleUrl !== '') {
        output.json({ url: local.consoleUrl, startedBy: 'leasehold dev' });
        output.line(`The local stack serves its console at ${output.colors.cyan(local.consoleUrl)}`);
        return context.end(exitCodes.ok);
      }
      return onSystem(context, options, (system) => serve(context, system, output, options));
    });
  return withExamples(
    withSystem(command),
    'leasehold console',
    'leasehold console --service Leasehold-Jobs --write --port 7070',
  );

  /** A system named by options or environment takes precedence over the local one. */
  function namesNoSystem(options: ConsoleCommandOptions): boolean {
    const { environment } = context.terminal;
    return (
      (options.table ?? options.service) === undefined &&
      !environment[resourceVariables.tableName] &&
      !environment[resourceVariables.serviceName]
    );
  }
}

async function serve(
  { terminal }: CliContext,
  system: System,
  output: Output,
  options: ConsoleCommandOptions,
) {
  const [{ startConsole }, { describeQueue }, { unknownJob }, metrics] = await Promise.all([
    import('../../console/start-console.ts'),
    import('../../../aws/sqs/queue-inspection.ts'),
    import('../../../client/look-up.ts'),
    metricsOf(system),
  ]);
  const { found, table, store, settings, inspection, events, sqs } = system;
  const { queueUrl } = found;
  if (options.scan === true) {
    const { rows, dollars } = await scanCostOf(system);
    output.note(`Reading the whole table once: about ${counted(rows, 'row')}, ${formatDollars(dollars)}.`);
  }
  const page = await startConsole({
    tableName: found.tableName,
    table,
    store,
    settings,
    events,
    clock: terminal.clock,
    port: options.port,
    queue: options.write === true ? system.queue() : undefined,
    scan: options.scan === true ? inspection.scan : undefined,
    queueDepth: queueUrl === undefined ? undefined : () => describeQueue(sqs, queueUrl),
    queueAge: system.queueAge,
    queueUrl,
    routing: system.routing,
    actor: system.actor,
    poolsOf: (running) => readPools(system, running),
    metrics,
    where: await whereOf(system),
    send: () => sendLine(found),
    tellUnknown: async (jobId) => (await unknownJob(system, jobId)).message,
    onProblem: (error) => output.note(error instanceof Error ? error.message : String(error)),
  });
  output.json({ url: page.url });
  output.line(`Console of ${found.tableName}: ${output.colors.cyan(page.url)}`);
  output.line(
    output.colors.dim(
      'The link contains a token that lets anyone who has it act as you. Ctrl-C stops the console.',
    ),
  );
  try {
    const { interrupted } = terminal;
    if (!interrupted.aborted)
      await new Promise((resolve) => interrupted.addEventListener('abort', resolve, { once: true }));
  } finally {
    await page.stop();
  }
  return exitCodes.ok;
}

async function metricsOf({ metricHistory, service }: System): Promise<Metrics | undefined> {
  if (metricHistory === undefined) return undefined;
  const { cloudWatchMetrics } = await import('../../console/cloudwatch-metrics.ts');
  return cloudWatchMetrics(metricHistory, service !== undefined);
}

async function whereOf({ found, service, dynamoDb }: System): Promise<Where> {
  const [, account] = /^https:\/\/[^/]+\/(\d{12})\//.exec(found.queueUrl ?? '') ?? [];
  return { service, account, region: await dynamoDb.config.region().catch(() => undefined) };
}

const sendLine = ({ tableName, queueUrl = 'URL' }: FoundSystem): string =>
  `${commandLine} send TYPE '{}' --table ${tableName} --queue-url ${queueUrl}`;
