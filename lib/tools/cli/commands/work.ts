import { resolve } from 'node:path';
import { Command } from 'commander';
import { configurationFromEnvironment } from '../../../settings/environment.ts';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, numberOption, withExamples } from '../define-command.ts';

interface Options {
  readonly cells?: number;
  readonly concurrency?: number;
  readonly healthPort?: number;
  readonly reaper?: boolean;
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
    .option('--reaper', 'reclaim lapsed jobs in this process, too; any number of processes may')
    .action(async (jobs: string, options: Options) => {
      const { terminal } = context;
      // Reports a missing variable before anything starts.
      const configuration = configurationFromEnvironment(terminal.environment);
      // Leases and running jobs matter more than log lines.
      const isOutputLost = terminal.outliveReader();
      const { startWorker } = await import('../../../worker/hosts/start-worker.ts');
      const worker = startWorker({ ...options, configuration, jobs: resolve(terminal.directory, jobs) });
      await worker.stopped;
      context.end(isOutputLost() ? exitCodes.refused : exitCodes.ok);
    });
  return withExamples(
    command,
    'leasehold work src/jobs.ts',
    'leasehold work dist/jobs.js --concurrency 50 --health-port 8080 --reaper',
  );
}
