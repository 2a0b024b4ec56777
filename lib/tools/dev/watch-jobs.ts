import { watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { type JobsModule, readJobsModule } from '../bundle/read-jobs-module.ts';
import type { LocalStack } from './stack.ts';

/** Editors write a file in several steps. */
const SETTLE_MS = 200;

/** Reports problems and keeps the old worker. */
export function watchJobs(
  stack: LocalStack,
  jobs: string,
  say: (line: string) => void,
  onReload: (module: JobsModule) => void,
): () => void {
  const watching = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const reload = async () => {
    try {
      await stack.reload();
      if (stack.jobsBundle !== undefined) {
        const module = await readJobsModule(stack.jobsBundle, stack.workerEnvironment);
        stack.schedule(module.schedules);
        onReload(module);
      }
      say(`${jobs} changed: new jobs run with it`);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  for (const folder of new Set(stack.sources().map((file) => dirname(file))))
    watch(folder, { signal: watching.signal }, (_change, name) => {
      if (name !== null && !stack.sources().includes(join(folder, name))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void reload(), SETTLE_MS);
    });
  return () => {
    clearTimeout(timer);
    watching.abort();
  };
}
