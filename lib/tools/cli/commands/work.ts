import { resolve } from 'node:path';
import { Command } from 'commander';
import { configurationFromEnvironment } from '../../../settings/environment.ts';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, loaderOption, numberOption, withExamples } from '../define-command.ts';

interface Options {
  readonly cells?: number;
  readonly concurrency?: number;
  readonly healthPort?: number;
  readonly metricsPort?: number;
  readonly reaper?: boolean;
  readonly loader?: Readonly<Record<string, string>>;
}

export function createCommand(context: CliContext): Command {
  const command = new Command('work')
    .description('run the jobs of a jobs module in this process and its cells, until SIGTERM or Ctrl-C')
    .argument('<jobs module>', 'the file that exports your registry')
    .option(
      '--cells <n>',
      'processes that share the jobs (default: one for each processor)',
      numberOption(1, 100),
    )
    .option('--concurrency <n>', 'jobs at the same time, over all cells', numberOption(1, 1000))
    .option(
      '--health-port <port>',
      'answers 200 here while it polls, a cell is ready and the table answers; else 503',
      numberOption(0, 65_535),
    )
    .option(
      '--metrics-port <port>',
      'serves the counts of this process here, in the format of Prometheus',
      numberOption(0, 65_535),
    )
    .option('--reaper', 'reclaim lapsed jobs in this process, too; several processes may')
    .option('--loader <.ext=loader>', 'how esbuild loads files by extension, such as .sql=text', loaderOption)
    .action(async (jobs: string, { loader, ...options }: Options) => {
      const { terminal } = context;
      const configuration = configurationFromEnvironment(terminal.environment);
      // Leases and running jobs matter more than log lines.
      const isOutputLost = terminal.outliveReader();
      const { onStopSignals } = await import('../../../worker/hosts/stop-signals.ts');
      const { startWorker } = await import('../../../worker/hosts/start-worker.ts');
      const { runnableJobs } = await import('../runnable-jobs.ts');
      // The first process of a container gets only signals that it listens to.
      const stopListening = onStopSignals(['SIGTERM', 'SIGINT'], () => process.exit(exitCodes.ok));
      const module = await runnableJobs(resolve(terminal.directory, jobs), loader);
      stopListening();
      await startWorker({ ...options, configuration, jobs: module.file }).stopped.catch(module.rethrow);
      context.end(isOutputLost() ? exitCodes.refused : exitCodes.ok);
    });
  return withExamples(
    command,
    'leasehold work src/jobs.ts',
    'leasehold work dist/jobs.js --health-port 8080 --metrics-port 9464',
  );
}
