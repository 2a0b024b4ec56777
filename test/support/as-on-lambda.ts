import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LambdaFunction } from '../../lib/tools/dev/lambda-host/lambda-function.ts';
import { defined } from '../../lib/wire/defined.ts';

/** MB that get one core on Lambda. */
const CORE_MB = 1769;
const CPU_GROUPS = '/sys/fs/cgroup/cpu';
const PERIOD_US = 100_000;
const LOGGING = join(import.meta.dirname, 'lambda-logging.ts');

/** A function's LoggingConfig in a template. */
export interface LoggingConfig {
  readonly LogFormat?: string;
  readonly ApplicationLogLevel?: string;
  readonly SystemLogLevel?: string;
}

/**
 * Variables that Lambda adds to a function's own.
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export function lambdaVariables({ LogFormat, ApplicationLogLevel = 'INFO' }: LoggingConfig) {
  const isJson = LogFormat === 'JSON';
  return defined({
    AWS_LAMBDA_LOG_FORMAT: isJson ? 'JSON' : undefined,
    AWS_LAMBDA_LOG_LEVEL: isJson ? ApplicationLogLevel : undefined,
    _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1',
  });
}

/**
 * An account's concurrent executions, which all functions share except what is reserved for one of them.
 * https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html
 */
export function accountWith(limit: number, reserved: Readonly<Record<string, number>> = {}) {
  const SHARED = '';
  const free = new Map(Object.entries(reserved));
  free.set(SHARED, limit - Object.values(reserved).reduce((sum, each) => sum + each, 0));
  return {
    async invoke(fn: LambdaFunction, event: unknown) {
      const pool = fn.name in reserved ? fn.name : SHARED;
      const left = free.get(pool) ?? 0;
      if (left === 0 || fn.free() === 0) return { outcome: 'throttled' } as const;
      free.set(pool, left - 1);
      try {
        return await fn.invoke(event);
      } finally {
        free.set(pool, (free.get(pool) ?? 0) + 1);
      }
    },
  };
}

/** A `/dev` with few devices, no shared memory, and links to the first three descriptors only. */
const MOUNTS = `
new=$(mktemp -d) && mount -t tmpfs none "$new" || exit 1
for device in null zero full random urandom; do : > "$new/$device"; mount --bind "/dev/$device" "$new/$device" || exit 1; done
mkdir "$new/fd"
for descriptor in 0 1 2; do ln -s "/proc/self/fd/$descriptor" "$new/fd/$descriptor"; done
mount --rbind "$new" /dev || exit 1
`;

/** Lambda gives CPU by memory. */
const shareOfCore = (prefix: string) => `
group=${prefix}$$
if mkdir "$group" 2>/dev/null; then
  echo ${PERIOD_US} > "$group/cpu.cfs_period_us"
  echo $((AWS_LAMBDA_FUNCTION_MEMORY_SIZE * ${PERIOD_US} / ${CORE_MB})) > "$group/cpu.cfs_quota_us"
  echo $$ > "$group/cgroup.procs"
fi
`;

export interface LambdaSurroundings {
  /** Set as `process.execPath`, the local host starts its functions with it. */
  readonly program: string;
  /** Call once the functions have ended. */
  end(): Promise<void>;
}

/** A program that runs Node as Lambda does, or the reason why there is none: mounts need root. */
export function nodeAsOnLambda(
  folder: string,
  {
    variables = {},
    limitsCpu = true,
  }: { readonly variables?: Readonly<Record<string, string>>; readonly limitsCpu?: boolean } = {},
): LambdaSurroundings | { readonly missing: string } {
  const inner = join(folder, 'mounted.sh');
  const program = join(folder, 'node-as-on-lambda');
  const prefix = join(CPU_GROUPS, `leasehold-${process.pid}-`);
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`);
  const run = `exec ${JSON.stringify(process.execPath)} --import ${JSON.stringify(LOGGING)} "$@"`;
  writeFileSync(inner, [MOUNTS, ...exports, limitsCpu ? shareOfCore(prefix) : '', run].join('\n'));
  writeFileSync(program, `#!/bin/sh\nexec unshare --mount --propagation private sh ${inner} "$@"\n`, {
    mode: 0o755,
  });
  const env = { ...process.env, AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(CORE_MB) };
  // Past the filter by level.
  const probe = 'fs.writeSync(1, fs.readdirSync("/dev/fd").join())';
  const tried = spawnSync(program, ['-e', probe], { encoding: 'utf8', env });
  if (tried.status === 0 && tried.stdout !== '0,1,2') throw new Error(`/dev/fd has ${tried.stdout}`);
  if (tried.status !== 0)
    return { missing: `no surroundings like Lambda's: ${tried.stderr || tried.error?.message}` };
  return {
    program,
    async end() {
      // A cell may outlive its host for a moment, and a group with a process cannot be removed.
      for (const group of globSync(`${prefix}*`))
        while (readFileSync(join(group, 'cgroup.procs'), 'utf8') !== '') await sleep(20);
      for (const group of globSync(`${prefix}*`)) rmdirSync(group);
    },
  };
}
