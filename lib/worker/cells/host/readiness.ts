import type { Telemetry } from '../../../protocol/ports.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { JobOptions } from '../../define-job.ts';
import { JobsModuleError } from '../../jobs-module-error.ts';
import { checkTypes } from '../../registry.ts';

/** After this many early deaths without a ready cell, the jobs module is at fault. */
const TRIES = 3;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** What a module threw, and where. */
const SHOWN_LINES = 3;

interface ReadinessOptions {
  readonly telemetry: Telemetry;
  readonly settings: Settings;
  readonly source: string;
}

/** Whether cells can start at all, and which job types they know. */
export class Readiness {
  readonly types = new Map<string, JobOptions>();
  readonly #options: ReadinessOptions;
  readonly #first = Promise.withResolvers<void>();
  /** Rejects if there will be no ready cell. */
  readonly first = this.#first.promise;
  #failures = 0;
  #hasBeenReady = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.first.catch(() => {});
  }

  hasBeenReady(): boolean {
    return this.#hasBeenReady;
  }

  /** The last cell to start got ready. */
  isWell(): boolean {
    return this.#failures === 0;
  }

  isHopeless(): boolean {
    return this.#failures >= TRIES;
  }

  /** False if the cell's types contradict the settings. */
  ready(told: readonly ({ readonly type: string } & JobOptions)[]): boolean {
    try {
      checkTypes(told, this.#options.settings);
    } catch (error) {
      this.#options.telemetry.error('the job types contradict the settings', error);
      this.#first.reject(error);
      return false;
    }
    this.types.clear();
    for (const { type, ...own } of told) this.types.set(type, own);
    this.#failures = 0;
    this.#hasBeenReady = true;
    this.#first.resolve();
    return true;
  }

  /** Returns how long to wait before the next start. */
  failed(reason: string): number {
    const { telemetry, source } = this.#options;
    this.#failures += 1;
    telemetry.count('CellsUnready');
    // Whoever gives up tells the whole reason.
    const shown = reason.split('\n').slice(0, SHOWN_LINES).join('\n');
    telemetry.warn('no cell can be started', { jobs: source, tries: this.#failures, reason: shown });
    return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#failures - 1));
  }

  giveUp(reason: string): void {
    if (!this.#hasBeenReady) this.#first.reject(new JobsModuleError(this.#options.source, reason));
  }
}
