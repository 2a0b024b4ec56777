import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import packageJson from '../../../../package.json' with { type: 'json' };
import { CliError, exitCodes } from '../cli-error.ts';
import { type CliContext, withExamples, withJson, withoutSystem } from '../define-command.ts';
import { forShells } from '../system/local-variables.ts';
import { projectFiles } from './project-files.ts';

interface Options {
  readonly name?: string;
  readonly leasehold?: string;
  readonly fargate?: boolean;
  readonly json?: boolean;
}

export function createCommand(context: CliContext): Command {
  const command = withJson(new Command('init'))
    .description('make a project: a job, its test and a CDK app')
    .argument('[folder]', 'where (default: this folder)')
    .option('--name <name>', 'the package’s name (default: the folder’s)')
    .option('--leasehold <version>', 'version, range or tarball of Leasehold (default: this one)')
    .option('--fargate', 'run the job in Fargate containers: a Dockerfile, and a pool in the CDK app')
    .action((folder: string | undefined, options: Options) =>
      withoutSystem(context, options, async (output) => {
        const target = resolve(context.terminal.directory, folder ?? '.');
        const name = packageName(options.name ?? basename(target));
        const { leasehold = `^${packageJson.version}`, fargate } = options;
        const files = projectFiles({ name, leasehold, fargate });
        write(target, files);
        output.json({ folder: target, files: Object.keys(files) });
        const where = relative(context.terminal.directory, target);
        output.line(`Made ${Object.keys(files).join(', ')}. Next:`);
        output.line(
          `  ${where === '' ? '' : `cd ${forShells(where)} && `}npm install && npm test && npm run dev`,
        );
        return exitCodes.ok;
      }),
    );
  return withExamples(
    command,
    'leasehold init my-jobs',
    'leasehold init . --name reports',
    'leasehold init renders --fargate',
  );
}

function write(target: string, files: Readonly<Record<string, string>>): void {
  try {
    refuseToOverwrite(target, Object.keys(files));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(target, path)), { recursive: true });
      writeFileSync(join(target, path), text, { flag: 'wx' });
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(
      `${JSON.stringify(target)} cannot be written: ${error instanceof Error ? error.message : String(error)}. Name a folder that can: leasehold init my-jobs`,
    );
  }
}

function refuseToOverwrite(target: string, paths: readonly string[]): void {
  const there = existsSync(target) ? new Set(readdirSync(target)) : new Set<string>();
  const taken = paths.filter((path) => there.has(path) || existsSync(join(target, path)));
  if (taken.length > 0)
    throw new CliError(
      `${target} has ${taken.join(', ')} already, and nothing was written. Name another folder: leasehold init my-jobs`,
    );
}

const packageName = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '') || 'jobs';
