import { Session } from 'node:inspector';
import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/** A jobs module that tells which files of lib its process has run. */
const LIB = new URL('../../lib/', import.meta.url).href;

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true });

/** The files of lib whose functions were called since the last look. */
export function filesRun(): string[] {
  const files: string[] = [];
  session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
    for (const { url, functions } of result)
      if (url.startsWith(LIB) && functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
        files.push(url.slice(LIB.length));
  });
  return files;
}

export const registry = createRegistry([
  defineJob({ type: 'plain', payload: z.object({}), run: () => filesRun() }),
]);
