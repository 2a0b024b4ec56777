import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Annotations, AssetHashType, DockerImage } from 'aws-cdk-lib';
import { type Architecture, Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { SettingsError } from '../settings/settings-error.ts';
import { libFolder, moduleExtension, packageFolder } from '../this-package.ts';
import { quoted } from '../wire/message.ts';
import type { WorkerBundling } from './props/leasehold-jobs-props.ts';

export type FunctionName = 'worker' | 'reaper' | 'dead-letter';

type Environment = Readonly<Record<string, string>>;

const PROGRAM = join(libFolder, 'tools', 'bundle', `bundle-function${moduleExtension}`);

export function workerCode(
  scope: Construct,
  jobs: string,
  { commandHooks, ...bundling }: WorkerBundling,
  environment: Environment,
  architecture: Architecture,
): Code {
  const optionsFor = (folder: string) => {
    const commands = commandHooks?.afterBundling(process.cwd(), folder);
    return [resolve(jobs), JSON.stringify({ ...bundling, commands }), architecture.name];
  };
  const warn = (problem: string) =>
    Annotations.of(scope).addWarningV2(
      'leasehold:jobs',
      `the bundle of the worker cannot be loaded on this machine. If it needs a variable or a service that only the function has, acknowledge this warning. ${problem}`,
    );
  return bundledCode('worker', { optionsFor, environment, warn });
}

export function functionCode(name: FunctionName): Code {
  const folder = join(packageFolder, 'functions', name);
  return existsSync(join(folder, 'index.mjs')) ? Code.fromAsset(folder) : bundledCode(name);
}

/** Bundles in a child process, because a construct cannot await a promise. */
const bundledCode = (
  name: FunctionName,
  {
    optionsFor = () => [],
    environment = {},
    warn = () => {},
  }: {
    readonly optionsFor?: (folder: string) => readonly string[];
    readonly environment?: Environment;
    readonly warn?: (problem: string) => void;
  } = {},
): Code =>
  Code.fromAsset(join(packageFolder, 'functions', name), {
    // The inputs are not all in this folder, so the hash must come from the output.
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      local: {
        tryBundle(folder) {
          const { status, stdout, stderr } = spawnSync(
            process.execPath,
            [PROGRAM, folder, name, ...optionsFor(folder)],
            {
              env: { ...process.env, ...environment },
              encoding: 'utf8',
            },
          );
          if (status !== 0)
            throw new SettingsError([stderr.trim() || `${name}: its bundling ended with ${status}`]);
          if (stdout !== '') warn(stdout);
          return true;
        },
      },
      // Required by CDK but never used: the local bundling succeeds or throws.
      image: DockerImage.fromRegistry('none'),
    },
  });

export function checkJobsModule(jobs: string): void {
  const file = resolve(jobs);
  if (!existsSync(file))
    throw new SettingsError([
      `prop 'jobs' is ${quoted(jobs)}, and there is no file ${file}. Name the module with: export const registry = createRegistry([...])`,
    ]);
}
