import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { JobsModuleError } from './jobs-module-error.ts';
import { isRegistry, type Registry } from './registry.ts';

const EXPORT_THIS = 'export const registry = createRegistry([...])';
const LOAD_WITHIN_MS = 30_000;

export const jobsModuleUrl = (jobs: string | URL): URL =>
  typeof jobs === 'string' && !jobs.startsWith('file:') ? pathToFileURL(resolve(jobs)) : new URL(jobs);

export async function loadJobsModule(jobs: string | URL): Promise<Registry> {
  const url = jobsModuleUrl(jobs);
  const file = url.protocol === 'file:' ? fileURLToPath(url) : url.href;
  if (url.protocol === 'file:' && !existsSync(url))
    throw new JobsModuleError(file, `there is no such file. Name the file that has: ${EXPORT_THIS}`);
  return loadRegistry(() => import(url.href), file);
}

export const loadRegistry = async (load: () => Promise<object>, file: string): Promise<Registry> =>
  registryIn(await importInTime(load, file), file);

async function importInTime(load: () => Promise<object>, file: string): Promise<object> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new JobsModuleError(
            file,
            `it is still loading after ${LOAD_WITHIN_MS} ms. Move top-level awaits for services into the handlers`,
          ),
        ),
      LOAD_WITHIN_MS,
    );
  });
  try {
    return await Promise.race([load(), tooLate]);
  } catch (cause) {
    if (cause instanceof JobsModuleError) throw cause;
    throw new JobsModuleError(file, `it throws while it is loaded; fix this first:\n${stackOf(cause)}`, {
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}

function registryIn(module: object, file: string): Registry {
  const exported = Object.entries(module).flatMap(([name, value]) =>
    // An imported CommonJS module repeats its exports under `default`.
    name === 'default' && isObject(value) && !isRegistry(value)
      ? Object.entries(value)
      : [[name, value] as const],
  );
  const registries = new Map(exported.flatMap(([name, value]) => (isRegistry(value) ? [[value, name]] : [])));
  const named = exported.find(([name, value]) => name === 'registry' && isRegistry(value));
  if (named !== undefined) return named[1] as Registry;
  const [only] = registries.keys();
  if (only !== undefined && registries.size === 1) return only;
  const names = [...new Set(exported.map(([name]) => name))].join(', ') || 'nothing';
  throw new JobsModuleError(
    file,
    registries.size > 1
      ? `it exports ${registries.size} registries (${[...registries.values()].join(', ')}), and none is named 'registry'. Join them: ${EXPORT_THIS}`
      : `it exports no registry (it exports ${names}). Add: ${EXPORT_THIS}`,
  );
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const stackOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  const lines = (thrown.stack ?? `${thrown.name}: ${thrown.message}`).split('\n');
  return lines.filter((line) => !/^\s+at .*(node:internal\/|load-jobs-module\.)/.test(line)).join('\n');
};
