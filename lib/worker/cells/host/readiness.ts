import type { JobOptions } from '../../define-job.ts';
import { JobsModuleError } from '../../jobs-module-error.ts';
import { checkTypes } from '../../registry.ts';
import type { CellPoolOptions } from './cell-pool.ts';

/** After this many early deaths without a ready cell, the jobs module is at fault. */
const TRIES = 3;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
const SHOWN_LINES = 3;

export function createReadiness({
  telemetry,
  settings,
  source,
}: Pick<CellPoolOptions, 'telemetry' | 'settings' | 'source'>) {
  const types = new Map<string, JobOptions>();
  const first = Promise.withResolvers<void>();
  first.promise.catch(() => {});
  let failures = 0;
  let hasBeenReady = false;
  return {
    types,
    first: first.promise,
    hasBeenReady: () => hasBeenReady,
    isWell: () => failures === 0,
    isHopeless: () => failures >= TRIES,
    /** False if the cell's types contradict the settings. */
    ready(cellTypes: readonly ({ readonly type: string } & JobOptions)[]): boolean {
      try {
        checkTypes(cellTypes, settings);
      } catch (error) {
        telemetry.error('the job types contradict the settings', error);
        first.reject(error);
        return false;
      }
      types.clear();
      for (const { type, ...own } of cellTypes) types.set(type, own);
      failures = 0;
      hasBeenReady = true;
      first.resolve();
      return true;
    },
    /** Returns how long to wait before the next start. */
    failed(reason: string): number {
      failures += 1;
      telemetry.count('CellsUnready');
      // `giveUp` reports the whole reason.
      const shown = reason.split('\n').slice(0, SHOWN_LINES).join('\n');
      telemetry.warn('no cell can be started', { jobs: source, tries: failures, reason: shown });
      return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
    },
    giveUp(reason: string): void {
      if (!hasBeenReady) first.reject(new JobsModuleError(source, reason));
    },
  };
}
