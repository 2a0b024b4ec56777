import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const MANAGERS = {
  npm: {
    run: 'npx',
    normal: 'npm install',
    dev: 'npm install --save-dev',
    optional: 'npm install --save-optional',
  },
  pnpm: {
    run: 'pnpm exec',
    normal: 'pnpm add',
    dev: 'pnpm add --save-dev',
    optional: 'pnpm add --save-optional',
  },
  yarn: { run: 'yarn', normal: 'yarn add', dev: 'yarn add --dev', optional: 'yarn add --optional' },
  bun: { run: 'bunx', normal: 'bun add', dev: 'bun add --dev', optional: 'bun add --optional' },
} as const;

type Manager = keyof typeof MANAGERS;
type Kind = 'normal' | 'dev' | 'optional';
type Packages = { readonly [kind in Kind]?: readonly string[] };

const LOCK_FILES: Readonly<Record<string, Manager>> = {
  'package-lock.json': 'npm',
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
};

export function installCommand(packages: Packages, directory?: string, agent?: string): string {
  const commands = managerIn(directory, agent);
  return (['normal', 'dev', 'optional'] as const)
    .flatMap((kind) => (packages[kind]?.length ? [[commands[kind], ...packages[kind]].join(' ')] : []))
    .join(' && ');
}

export const runCommand = (directory?: string, agent?: string): string => managerIn(directory, agent).run;

function managerIn(
  directory: string = process.cwd(),
  agent: string = process.env.npm_config_user_agent ?? '',
): (typeof MANAGERS)[Manager] {
  const named = (Object.keys(MANAGERS) as Manager[]).find((each) => agent.startsWith(`${each}/`));
  return MANAGERS[managerOf(resolve(directory)) ?? named ?? 'npm'];
}

/** By the nearest lock file, because `npx` runs in projects of every package manager. */
function managerOf(folder: string): Manager | undefined {
  const lock = Object.keys(LOCK_FILES).find((file) => existsSync(join(folder, file)));
  if (lock !== undefined) return LOCK_FILES[lock];
  return folder === dirname(folder) ? undefined : managerOf(dirname(folder));
}
