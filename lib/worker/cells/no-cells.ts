import type { Clock, Telemetry } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { LeaseLost } from '../abort-reasons.ts';
import { checkTypes, type Registry } from '../registry.ts';
import { SchemaSilentError } from './cell/check-schema.ts';
import { checkText } from './cell/handler-job.ts';
import { startHandler } from './cell/run-handler.ts';
import type { Cells, PayloadCheck, RunEnd, Work } from './cells.ts';

/**
 * Handlers beside their host (`isolation: 'none'`), for tests and functions with little memory. A handler that exits,
 * exhausts memory or never gives way takes the keeper of its lease down with it, and one that ignores its signal runs on.
 */
export function createNoCells(options: {
  readonly load: () => Promise<Registry>;
  /** The registry, where it need not be loaded first. */
  readonly known?: Registry;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}): Cells {
  const { settings, clock, telemetry } = options;
  let registry = options.known;
  const loading = (async () => {
    registry ??= await options.load();
    checkTypes(registry.definitions, settings);
  })();
  loading.catch(() => {});
  /** What schemas made of payloads, until their jobs start. */
  const checked = new Map<number, { readonly value: unknown }>();
  let checks = 0;

  const check = async (type: string, payload: string): Promise<PayloadCheck> => {
    const schema = registry?.find(type)?.payload;
    if (schema === undefined) return { kind: 'unknownType' };
    try {
      const answer = await checkText(schema, payload, clock);
      if (!answer.ok) return { kind: 'refused', reason: answer.reason };
      checks += 1;
      checked.set(checks, { value: answer.value });
      return { kind: 'accepted', token: { cell: 0, check: checks } };
    } catch (error) {
      if (error instanceof SchemaSilentError) return { kind: 'unanswered' };
      throw error;
    }
  };

  const start = (work: Work) => {
    const { job, lease, progressIntervalMs } = work;
    const definition = registry?.find(job.type);
    if (definition === undefined) throw new Error(`no handler for type '${job.type}'`);
    const seen = work.checked && checked.get(work.checked.check);
    if (work.checked !== undefined) checked.delete(work.checked.check);
    const abandoned = Promise.withResolvers<RunEnd>();
    const handler = startHandler({
      ...{ definition, clock, log: telemetry, checked: seen, progressIntervalMs },
      job: { ...job, checkpoint: job.checkpoint === undefined ? undefined : JSON.stringify(job.checkpoint) },
      maxCheckpointBytes: settings.maxCheckpointBytes,
      maxResultBytes: settings.maxResultBytes,
      reasonNow: () =>
        lease.hasEnded() ? new LeaseLost('ended') : lease.isHeld() ? undefined : new LeaseLost('lapsed'),
      save: (kept) => work.save(kept),
      onProgress: () => work.onProgress(),
    });
    return {
      end: Promise.race<RunEnd>([handler.end, abandoned.promise]),
      abort: handler.abort,
      // Nobody can end it: it is left behind, and its writes are fenced.
      kill: () =>
        abandoned.resolve({
          kind: 'died',
          cause: 'handler ignored its signal and was left behind',
          isToBlame: false,
        }),
    };
  };

  return {
    ready: () => loading,
    isReady: () => registry !== undefined,
    isUsable: () => true,
    types: () => (registry?.definitions ?? []).map(({ type }) => type),
    find: (type) => registry?.find(type),
    check,
    forget(given) {
      if (given.kind === 'accepted' && given.token !== undefined) checked.delete(given.token.check);
    },
    start,
    async quiet() {
      await registry?.flush?.()?.catch((error: unknown) => telemetry.error('flush failed', error));
    },
    drain() {},
    close: async () => {},
  };
}
