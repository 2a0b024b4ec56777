import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { libFolder, moduleExtension } from '../../../this-package.ts';
import { killWithThisProcess } from '../kill-with-this-process.ts';
import type { SandboxOptions } from './sandbox.ts';

const MEMORY_MB = 256;
const RUNTIME = join(libFolder, 'tools', 'dev', 'lambda-host', `runtime${moduleExtension}`);

const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot', 'LD_LIBRARY_PATH'];

export function spawnRuntime(options: SandboxOptions, runtimeApi: string): ChildProcess {
  const inherited = Object.fromEntries(
    INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  const memory = String(options.memoryMb ?? MEMORY_MB);
  const child = spawn(process.execPath, ['--enable-source-maps', `--max-old-space-size=${memory}`, RUNTIME], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...inherited,
      ...options.environment,
      AWS_LAMBDA_RUNTIME_API: runtimeApi,
      AWS_LAMBDA_FUNCTION_NAME: options.functionName,
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: memory,
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${options.functionName}`,
      AWS_LAMBDA_LOG_STREAM_NAME: `local/[$LATEST]${randomUUID().replaceAll('-', '')}`,
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      LAMBDA_TASK_ROOT: options.codeDir,
      _HANDLER: options.handler,
      // Unlike a Lambda sandbox, a process does not end its children with it.
      __LEASEHOLD_GUARD: '1',
      TZ: ':UTC',
    },
  });
  killWithThisProcess(child);
  // The process may die while its stdin is open.
  child.stdin?.on('error', () => {});
  return child;
}
