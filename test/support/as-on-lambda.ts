import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeep } from './depth.ts';

/** 512 MB on Lambda. */
const SHARE_OF_A_CORE = 0.29;
const CPU_GROUP = '/sys/fs/cgroup/cpu/leasehold-as-on-lambda';

/** What Lambda sets, and the local host does not: log level and format of the function, a trace. */
const VARIABLES = {
  AWS_LAMBDA_LOG_FORMAT: 'JSON',
  AWS_LAMBDA_LOG_LEVEL: 'WARN',
  _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1',
};

/** A `/dev` as Lambda's: few devices, no shared memory, and links to the first three descriptors alone. */
const MOUNTS = `
new=$(mktemp -d) && mount -t tmpfs none "$new" || exit 1
for device in null zero full random urandom; do : > "$new/$device"; mount --bind "/dev/$device" "$new/$device" || exit 1; done
mkdir "$new/fd"
for descriptor in 0 1 2; do ln -s "/proc/self/fd/$descriptor" "$new/fd/$descriptor"; done
mount --rbind "$new" /dev || exit 1
`;

/**
 * A program that runs Node in surroundings like Lambda's, or why there is none: mounts need root. With it as `process.execPath`,
 * the local host starts its functions there. In deep runs they also have a share of a core.
 */
export function nodeAsOnLambda(folder: string): { readonly program: string } | { readonly missing: string } {
  const inner = join(folder, 'mounted.sh');
  const program = join(folder, 'node-as-on-lambda');
  const variables = Object.entries(VARIABLES).map(([name, value]) => `export ${name}='${value}'`);
  const limit = limitCpu() ? [`echo $$ > ${CPU_GROUP}/cgroup.procs`] : [];
  const run = `exec ${JSON.stringify(process.execPath)} "$@"`;
  writeFileSync(inner, [MOUNTS, ...variables, ...limit, run].join('\n'));
  writeFileSync(program, `#!/bin/sh\nexec unshare --mount --propagation private sh ${inner} "$@"\n`, {
    mode: 0o755,
  });
  const tried = spawnSync(program, ['-p', 'fs.readdirSync("/dev/fd").join()'], { encoding: 'utf8' });
  return tried.stdout?.trim() === '0,1,2'
    ? { program }
    : { missing: `no surroundings like Lambda's: ${tried.stderr || tried.error?.message}` };
}

/** Whether there is a group with a share; only deep runs, which may take long, ask for one. */
function limitCpu(): boolean {
  if (!isDeep) return false;
  try {
    mkdirSync(CPU_GROUP, { recursive: true });
    writeFileSync(join(CPU_GROUP, 'cpu.cfs_period_us'), '100000');
    writeFileSync(join(CPU_GROUP, 'cpu.cfs_quota_us'), String(Math.round(SHARE_OF_A_CORE * 100_000)));
    return true;
  } catch {
    return false;
  }
}
