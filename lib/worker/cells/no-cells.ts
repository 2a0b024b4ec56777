import { LeaseLost } from '../abort-reasons.ts';
import { checkTypes, type Registry } from '../registry.ts';
import { startHandler } from './cell/run-handler.ts';
import type { Cells, CellsOptions, RunEnd, Work } from './cells.ts';
import { jobDataOf } from './channel.ts';

const LEFT_BEHIND = 'handler ignored its signal and was left behind';

/** For tests and small functions: a handler that exits or blocks affects its host. */
export function createNoCells(
  options: Pick<CellsOptions, 'settings' | 'clock' | 'telemetry'> & {
    readonly registry: Registry | (() => Promise<Registry>);
  },
): Cells {
  const { settings, clock, telemetry } = options;
  let registry = typeof options.registry === 'function' ? undefined : options.registry;
  const loading = (async () => {
    registry = typeof options.registry === 'function' ? await options.registry() : options.registry;
    checkTypes(registry.definitions, settings);
  })();
  loading.catch(() => {});
  const start = (work: Work) => {
    const { job, lease, progressIntervalMs } = work;
    const definition = registry?.find(job.type);
    if (definition === undefined) throw new Error(`no handler for type '${job.type}'`);
    const abandoned = Promise.withResolvers<RunEnd>();
    const handler = startHandler({
      definition,
      clock,
      log: telemetry,
      limits: settings,
      progressIntervalMs,
      job: jobDataOf(job),
      reasonNow: () =>
        lease.hasEnded() ? new LeaseLost('ended') : lease.isHeld() ? undefined : new LeaseLost('lapsed'),
      save: (kept) => work.save(kept),
      onProgress: () => work.onProgress(),
    });
    return {
      end: Promise.race<RunEnd>([handler.end, abandoned.promise]),
      abort: handler.abort,
      // It cannot be killed, but its later writes are fenced.
      kill: () => abandoned.resolve({ kind: 'died', cause: LEFT_BEHIND, crashedAlone: false }),
    };
  };

  return {
    ready: () => loading,
    isReady: () => registry !== undefined,
    isUsable: () => true,
    types: () => (registry?.definitions ?? []).map(({ type }) => type),
    find: (type) => registry?.find(type),
    start,
    async quiet() {
      await registry?.flush?.()?.catch((error: unknown) => telemetry.error('flush failed', error));
    },
    drain() {},
    close: async () => {},
  };
}
