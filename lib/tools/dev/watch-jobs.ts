import { watch } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LocalStack } from './stack.ts';

/** Editors write a file in several steps. */
const SETTLE_MS = 200;

export function watchJobs(
  stack: LocalStack,
  jobs: string,
  print: (line: string) => void,
  onReload: () => void,
): () => void {
  const watching = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isBroken = false;
  const reload = async () => {
    isBroken = true;
    try {
      stack.schedule((await stack.reload()).schedules);
      onReload();
      print(`${jobs} changed: new jobs run with it`);
      isBroken = false;
    } catch (error) {
      print(error instanceof Error ? error.message : String(error));
      print(`${jobs} cannot be loaded: jobs run with its last version until you save one that loads`);
    }
  };
  // A file that broke the module may not be one of its sources yet.
  const isSource = (file: string) => isBroken || stack.sources().includes(file);
  for (const folder of new Set(stack.sources().map((file) => dirname(file))))
    watch(folder, { signal: watching.signal }, (_change, name) => {
      if (name !== null && !isSource(join(folder, name))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void reload(), SETTLE_MS);
    });
  return () => {
    clearTimeout(timer);
    watching.abort();
  };
}
