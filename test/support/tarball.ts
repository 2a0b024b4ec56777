import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** What npm and vitest tell their children of this repository. */
const OF_THIS_RUN =
  /^(npm_(package|lifecycle|command|execpath|node)|npm_config_(local_prefix|strict_allow_scripts|save_exact|prefix)|INIT_CWD|VITEST|NODE_ENV|TEST_)/;

/** The environment of a project of somebody else's: this Node first, and nothing of this repository. */
const surroundings = (): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !OF_THIS_RUN.test(name));
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return {
    ...Object.fromEntries(kept),
    PATH: [dirname(process.execPath), ...path].join(delimiter),
    npm_config_loglevel: 'error',
  };
};

/** The package as it would be published. */
export function packTarball(folder: string): string {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root, stdio: 'pipe' });
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  if (file === undefined) throw new Error('npm pack made no tarball');
  return join(folder, file);
}

export interface FreshProject {
  readonly folder: string;
  write(file: string, text: string): void;
  run(command: string, ...args: readonly string[]): string;
  /** Starts a command that goes on. `stop` interrupts it and everything that it started. */
  start(command: string, ...args: readonly string[]): { said(): string; stop(): Promise<unknown> };
  remove(): void;
}

/** An empty folder outside the repository, with a package.json of this type. */
export function freshProject(type: 'module' | 'commonjs'): FreshProject {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-fresh-'));
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  write('package.json', JSON.stringify({ name: 'fresh', private: true, type }));
  return {
    folder,
    write,
    run: (command, ...args) =>
      execFileSync(command, [...args], { cwd: folder, encoding: 'utf8', env: surroundings(), stdio: 'pipe' }),
    start(command, ...args) {
      const child = spawn(command, [...args], { cwd: folder, env: surroundings(), detached: true });
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          text += chunk;
        });
      const ended = once(child, 'exit');
      return {
        said: () => text,
        stop() {
          if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGINT');
          return ended;
        },
      };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
