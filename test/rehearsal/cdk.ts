import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

const projectRoot = join(import.meta.dirname, '..', '..');
const require = createRequire(import.meta.url);

interface CdkResult {
  readonly code: number | null;
  readonly output: string;
}

/** The real CDK CLI on an app of this folder, in a folder of its own so that nothing is left in the project. */
export interface Cdk {
  readonly folder: string;
  /** Runs a command and resolves with its outcome. */
  run(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<CdkResult>;
  /** Runs a command that must succeed. */
  mustRun(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<string>;
}

export function createCdk(
  folder: string,
  /** Whether it may use the credentials of whoever runs it. @default false */
  { app = 'app.ts', keepsAccount = false }: { readonly app?: string; readonly keepsAccount?: boolean } = {},
): Cdk {
  const config = JSON.parse(readFileSync(join(projectRoot, 'cdk.json'), 'utf8'));
  config.app = `"${process.execPath}" "${join(import.meta.dirname, app)}"`;
  writeFileSync(join(folder, 'cdk.json'), JSON.stringify(config));
  const program = join(dirname(require.resolve('aws-cdk/package.json')), 'bin', 'cdk');

  const run: Cdk['run'] = (args, environment = {}) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [program, ...args, '--ci'], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...(keepsAccount ? process.env : withoutAccount(process.env)),
          PATH: [join(projectRoot, 'node_modules', '.bin'), dirname(process.execPath), process.env.PATH].join(
            delimiter,
          ),
          ...environment,
        },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (chunk: string) => {
          output += chunk;
        });
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, output }));
    });
  return {
    folder,
    run,
    async mustRun(args, environment) {
      const { code, output } = await run(args, environment);
      if (code !== 0) throw new Error(`cdk ${args.join(' ')} ended with ${code}:\n${output.slice(-3000)}`);
      return output;
    },
  };
}

/** Nobody's real account may come into a rehearsal that was not asked to use it. */
const withoutAccount = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(AWS|CDK|LEASEHOLD)_/.test(name)));
