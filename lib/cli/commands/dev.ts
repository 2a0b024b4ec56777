import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { DevOptions } from '../../local/dev.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import { type CliContext, numberOption, withExamples } from '../define-command.ts';

type Options = Pick<DevOptions, 'once' | 'quiet' | 'data' | 'engine' | 'workers' | 'port' | 'worker'> & {
  readonly json?: boolean;
};

/** `leasehold dev`: the whole system on this machine, until Ctrl-C. */
export function devCommand(context: CliContext): Command {
  const command = new Command('dev')
    .description('run the whole system on this machine: table, queues, workers, reaper and console')
    .option('--once', 'stop after the first minute; exit code 0 only if every job ended as expected')
    .option('-q, --quiet', 'send no demo jobs')
    .option('--data <folder>', 'keep table and queues in this folder between runs')
    .addOption(
      new Option('--engine <engine>', 'what stands in for DynamoDB').choices(['dynoxide', 'dynamodb-local']),
    )
    .option('--workers <n>', 'worker processes at the same time', numberOption(1, 64))
    .option('--port <port>', 'port of the console (default: a free one)', numberOption(0, 65_535))
    .option('--worker <file>', 'a worker of your own: a file that exports `handler`')
    .option('--json', 'text goes to stderr; stdout gets one JSON document at the end')
    .action(async (options: Options) => {
      const { json, ...chosen } = options;
      const { terminal } = context;
      if (chosen.worker !== undefined && !existsSync(resolve(terminal.directory, chosen.worker)))
        throw new CliError(
          `There is no file '${chosen.worker}'. --worker names a file that exports \`handler\``,
        );
      const { runDev } = await import('../../local/dev.ts');
      const code = await runDev({
        ...chosen,
        worker: chosen.worker === undefined ? undefined : resolve(terminal.directory, chosen.worker),
        directory: terminal.directory,
        signal: terminal.interrupted,
        output: json === true ? process.stderr : undefined,
      });
      if (json === true) terminal.write(`${JSON.stringify({ asExpected: code === 0 })}\n`);
      context.end(code === 0 ? exitCodes.ok : exitCodes.refused);
    });
  return withExamples(
    command,
    'leasehold dev',
    'leasehold dev --once',
    'leasehold dev --quiet --worker src/worker.ts',
  );
}
