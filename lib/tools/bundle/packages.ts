import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import type { BundlingOptions } from './bundling.ts';
import { installCommand } from './package-manager.ts';

export function packageOf(file: string): { readonly name: string; readonly folder: string } | undefined {
  const [, folder, name] = /^(.*[\\/]?node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+))[\\/]/.exec(file) ?? [];
  return folder && name ? { folder, name: name.replace('\\', '/') } : undefined;
}

export function nativePackages(files: readonly string[]): readonly string[] {
  const packages = new Map(files.flatMap((file) => packageOf(file) ?? []).map((each) => [each.name, each]));
  return [...packages.values()]
    .filter(({ folder }) => globSync('{,src/}binding.gyp', { cwd: folder }).length > 0)
    .map(({ name }) => name);
}

export const installFix = (names: readonly string[]): string =>
  `Install ${names.length > 1 ? 'them' : 'it'} next to the bundle: bundling: { nodeModules: [${names.map((name) => `'${name}'`).join(', ')}] } on LeaseholdJobs, --node-modules ${names.join(',')} for leasehold dev`;

export function linkPackages(
  folder: string,
  jobs: string,
  { nodeModules = [], externalModules = [] }: BundlingOptions,
): void {
  for (const name of [...nodeModules, ...externalModules]) {
    const target = findUpwards(jobs, join('node_modules', name));
    if (target === undefined && nodeModules.includes(name)) throw notInstalled(name, jobs);
    const link = join(folder, 'node_modules', name);
    if (target === undefined || existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(realpathSync(target), link, 'junction');
  }
}

/** For the function's processor, in the versions that the jobs module finds. */
export function installPackages(
  folder: string,
  jobs: string,
  nodeModules: readonly string[],
  architecture: string,
): void {
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
  if (nodeModules.length === 0) return;
  const dependencies = Object.fromEntries(nodeModules.map((name) => [name, versionOf(name, jobs)]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies }));
  const lock = findUpwards(jobs, 'package-lock.json');
  if (lock !== undefined) copyFileSync(lock, join(folder, 'package-lock.json'));
  const cpu = architecture === 'arm64' ? 'arm64' : 'x64';
  npmInstall(folder, cpu);
  for (const left of [
    'package.json',
    'package-lock.json',
    'node_modules/.package-lock.json',
    'node_modules/.bin',
  ])
    rmSync(join(folder, left), { recursive: true, force: true });
  refuseOtherMachines(folder, cpu);
}

function npmInstall(folder: string, cpu: string): void {
  // The first three are npm's; install scripts that fetch a prebuilt file read the variables.
  const target = ['--os=linux', `--cpu=${cpu}`, '--libc=glibc'];
  const env = { ...process.env, npm_config_platform: 'linux', npm_config_arch: cpu };
  try {
    execFileSync(
      'npm',
      ['install', '--omit=dev', '--install-links', '--no-audit', '--no-fund', '--loglevel=error', ...target],
      {
        cwd: folder,
        env,
        stdio: 'pipe',
        shell: process.platform === 'win32',
      },
    );
  } catch (cause) {
    throw new LeaseholdError(
      'BUNDLE',
      `the packages of bundling.nodeModules could not be installed: ${cause instanceof Error ? cause.message : cause}`,
      { cause },
    );
  }
}

/** By the number of its processor in an ELF file: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html */
const MACHINES: Readonly<Record<string, number>> = { x64: 0x3e, arm64: 0xb7 };

/** A package that was compiled here runs only on machines like this one. */
function refuseOtherMachines(folder: string, cpu: string): void {
  const found = new Map<string, boolean>();
  for (const file of globSync('**/*.node', { cwd: folder })) {
    const name = packageOf(file)?.name ?? file;
    const header = readFileSync(join(folder, file)).subarray(0, 20);
    const isRight = header.toString('latin1', 1, 4) === 'ELF' && header.readUInt16LE(18) === MACHINES[cpu];
    found.set(name, isRight || found.get(name) === true);
  }
  const wrong = [...found].filter(([, isRight]) => !isRight).map(([name]) => name);
  if (wrong.length > 0)
    throw new LeaseholdError(
      'BUNDLE',
      `${wrong.join(', ')}: npm installed native code for another machine, and the worker runs on linux-${cpu}. Synthesize on such a machine, or choose the architecture of this one: workerFunctionProps: { architecture }`,
    );
}

const notInstalled = (name: string, jobs: string) =>
  new LeaseholdError(
    'BUNDLE',
    `bundling.nodeModules has '${name}', and it is not installed for ${jobs}. Run: ${installCommand({ normal: [name] }, dirname(jobs))}`,
  );

function versionOf(name: string, jobs: string): string {
  const folder = findUpwards(jobs, join('node_modules', name));
  if (folder === undefined) throw notInstalled(name, jobs);
  const manifest = realpathSync(join(folder, 'package.json'));
  if (packageOf(manifest) === undefined) return `file:${dirname(manifest)}`;
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

function findUpwards(file: string, path: string): string | undefined {
  const folder = dirname(resolve(file));
  const found = join(folder, path);
  if (existsSync(found)) return found;
  return folder === dirname(folder) ? undefined : findUpwards(folder, path);
}
