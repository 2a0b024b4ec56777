import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { DevOptions } from '../../dev/dev.ts';
import { type LocalPools, parseLocalPool } from '../../dev/local-pools.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import { type CliContext, listOption, loaderOption, numberOption, withExamples } from '../define-command.ts';
import { printLocalVariables } from '../system/local-variables.ts';

type Options = Omit<DevOptions, 'jobs' | 'pools' | 'bundling' | 'directory' | 'signal' | 'output'> & {
  readonly nodeModules?: readonly string[];
  readonly external?: readonly string[];
  readonly loader?: Readonly<Record<string, string>>;
  readonly pool?: LocalPools;
  readonly env?: boolean;
  readonly json?: boolean;
};

export function createCommand(context: CliContext): Command {
  const command = new Command('dev')
    .description('run the whole system on this machine: table, queues, workers, reaper and console')
    .argument('[jobs]', 'your jobs module, the file that exports a registry (default: demo jobs)')
    .option(
      '--pool <name=kind:types>',
      'types with their own queue and workers; kind is lambda or fargate (may be repeated)',
      poolOption,
    )
    .option('--env', 'print the variables of the running local system, one NAME=value per line, and exit')
    .option('--once', 'exit after the first minute, with 0 only if every job ended as expected')
    .option('-q, --quiet', 'print nothing about jobs, logs and errors')
    .option('--no-demo', 'send no demo jobs')
    .option('--data <folder>', 'keep table and queues in this folder between runs')
    .addOption(
      new Option('--engine <engine>', 'what stands in for DynamoDB').choices(['dynoxide', 'dynamodb-local']),
    )
    .option('--workers <n>', 'worker processes at the same time; 0 to run your own', numberOption(0, 64))
    .option(
      '--port <port>',
      'port of the console; the engines take the next three (default: as in the last run here)',
      numberOption(0, 65_532),
    )
    .option('--env-file <file>', 'variables for your handlers; those of the shell win (default: .env)')
    .addOption(
      new Option('--aws <whose>', 'AWS settings your handlers use: those of the local system, or your own')
        .choices(['local', 'mine'])
        .default('local'),
    )
    .option(
      '--node-modules <packages>',
      'packages installed next to the bundle: native ones, and those that read their own files',
      listOption,
    )
    .option('--external <packages>', 'packages that are left out of the bundle', listOption)
    .option('--loader <.ext=loader>', 'how esbuild loads files by extension, such as .sql=text', loaderOption)
    .option('--json', 'text goes to stderr; stdout gets one JSON document at the end')
    .action(async (jobs: string | undefined, given: Options) => {
      const { env, json, demo, pool: pools, nodeModules, external, loader, ...options } = given;
      const { terminal } = context;
      if (env === true) return context.end(printLocalVariables(terminal, { json }));
      if (jobs !== undefined && options.once)
        throw new CliError('--once works only with the demo; leave it out, or leave the jobs module out');
      const { runDev } = await import('../../dev/dev.ts');
      const code = await runDev({
        ...options,
        // Commander passes true without --no-demo; then the jobs module decides.
        demo: demo === false ? false : undefined,
        jobs: jobs === undefined ? undefined : resolve(terminal.directory, jobs),
        pools,
        bundling: { nodeModules, externalModules: external, loader },
        directory: terminal.directory,
        signal: terminal.interrupted,
        output: json === true ? process.stderr : undefined,
      });
      if (json === true) terminal.write(`${JSON.stringify({ asExpected: code === 0 })}\n`);
      context.end(code === 0 ? exitCodes.ok : exitCodes.refused);
    });
  return withExamples(
    command,
    'leasehold dev src/jobs.ts',
    'leasehold dev src/jobs.ts --pool render=fargate:render,encode',
    'leasehold dev --env > .env',
    'set -a; eval "$(leasehold dev --env)"; set +a',
    'leasehold dev --once',
  );
}

function poolOption(text: string, before: LocalPools = {}): LocalPools {
  const [name, pool] = parseLocalPool(text) ?? [];
  if (name === undefined || pool === undefined)
    throw new InvalidArgumentError(
      'Give name=kind:types, such as render=fargate:render,encode. The kind is lambda or fargate.',
    );
  if (Object.hasOwn(before, name))
    throw new InvalidArgumentError(`There is a pool '${name}' already. List all its types in one option.`);
  return { ...before, [name]: pool };
}
