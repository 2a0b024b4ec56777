import type { Telemetry } from '../../../protocol/ports.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { JobOptions } from '../../define-job.ts';
import { checkTypes } from '../../registry.ts';
import { JobsModuleError } from '../jobs-module-error.ts';
import type { CellDeath } from './cell.ts';

/** Whether the cells of a host can be started at all, and the job types that they know. */
export interface Readiness {
  /** Resolves with the first cell that is ready; rejects when there will be none. */
  readonly first: Promise<void>;
  readonly types: ReadonlyMap<string, JobOptions>;
  hasBeenReady(): boolean;
  /** Whether the last cell to start got ready. */
  isWell(): boolean;
  /** Whether so many died before they were ready that the jobs module is to blame. */
  isHopeless(): boolean;
  /** A cell is ready; false where its types contradict the settings, and it is of no use. */
  ready(told: readonly ({ readonly type: string } & JobOptions)[]): boolean;
  /** A cell died before it was ready: why, and how long to wait before the next. */
  failed(death: CellDeath): { readonly reason: string; readonly pauseMs: number };
  /** There is none that is ready, and none is to be expected. */
  giveUp(reason: string): void;
}

/** Cells that die before they are ready while none is: then the jobs module is to blame. */
const TRIES = 3;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export function createReadiness(options: {
  readonly telemetry: Telemetry;
  readonly settings: Settings;
  /** Where handlers come from. */
  readonly source: string;
}): Readiness {
  const { telemetry, settings, source } = options;
  const types = new Map<string, JobOptions>();
  const first = Promise.withResolvers<void>();
  first.promise.catch(() => {});
  let failures = 0;
  let hasBeenReady = false;
  return {
    ...{ first: first.promise, types },
    hasBeenReady: () => hasBeenReady,
    isWell: () => failures === 0,
    isHopeless: () => failures >= TRIES,
    ready(told) {
      try {
        checkTypes(told, settings);
      } catch (error) {
        telemetry.error('the job types contradict the settings', error);
        first.reject(error);
        return false;
      }
      types.clear();
      for (const { type, ...own } of told) types.set(type, own);
      failures = 0;
      hasBeenReady = true;
      first.resolve();
      return true;
    },
    failed({ unloadable, cause }) {
      failures += 1;
      const reason = unloadable ?? `a cell ended before it was ready: ${cause}`;
      telemetry.count('CellsUnready');
      telemetry.error('no cell can be started', new Error(reason), { tries: failures });
      return { reason, pauseMs: Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)) };
    },
    giveUp(reason) {
      if (!hasBeenReady) first.reject(new JobsModuleError(source, reason));
    },
  };
}
