import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import { type AbortReason, LeaseLost } from '../../abort-reasons.ts';
import type { JobDefinition } from '../../define-job.ts';
import { type Registry, UnknownTypeError } from '../../registry.ts';
import { thrownBy } from '../../thrown.ts';
import type { CellOrders } from '../cell-orders.ts';
import type { FromCell, RunMessage, SaveOutcome, ToCell } from '../channel.ts';
import type { Outbox } from '../outbox.ts';
import type { RunGrant, SharedMemory } from '../shared-memory.ts';
import { numberedReason, WITHDRAWN } from '../stop-numbers.ts';
import { currentJob } from './output.ts';
import type { Probe } from './probe.ts';
import { startHandler } from './run-handler.ts';

interface Active {
  look(): unknown;
  onSaved(outcome: SaveOutcome): void;
}

export interface ServeOptions {
  readonly orders: CellOrders;
  readonly registry: Registry;
  readonly shared: SharedMemory;
  readonly channel: Outbox<FromCell>;
  readonly clock: Clock;
  readonly probe: Probe;
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
}

export function serveHost(options: ServeOptions) {
  const { orders, registry, shared, channel, clock, probe, log } = options;
  const active = new Map<number, Active>();

  const onMessage = (message: ToCell) => {
    switch (message.kind) {
      case 'run':
        return start(message);
      case 'abort':
        return void active.get(message.run)?.look();
      case 'saved':
        return active.get(message.run)?.onSaved(message.outcome);
      case 'flush':
        return void flush().then(() => channel.send({ kind: 'flushed', turn: message.turn }));
    }
  };

  const start = (message: RunMessage) => {
    const { run, slot, job } = message;
    // Begin before reading the grant. The host revokes before reading this, so at least one of them sees the other.
    shared.begin(slot, run);
    const granted = shared.granted(slot);
    if (granted.run !== run || granted.stop !== 0) return channel.send({ kind: 'unstarted', run });
    const definition = registry.find(job.type);
    if (definition !== undefined) return begin(message, definition);
    // Only if the jobs module changed after the host read its types.
    const error = thrownBy(new UnknownTypeError(job.type, []));
    channel.send({ kind: 'ended', run, end: { kind: 'threw', error } });
  };

  const begin = (message: RunMessage, definition: JobDefinition) => {
    const { run, slot, job, requestId, traceId } = message;
    if (traceId !== undefined) process.env._X_AMZN_TRACE_ID = traceId;
    let onSaved: Active['onSaved'] = () => {};
    let isEnded = false;
    let progress = 0;
    const named = { jobId: job.jobId, type: job.type, attempt: job.attempt, requestId, traceId };
    const handler = currentJob.run(named, () =>
      startHandler({
        definition,
        job,
        clock,
        log,
        limits: orders,
        progressIntervalMs: message.progressIntervalMs,
        reasonNow: () => (isEnded ? new LeaseLost('ended') : reasonIn(clock, shared.granted(slot), run)),
        onProgress: () => shared.begin(slot, run, ++progress),
        save(kept) {
          const saved = Promise.withResolvers<'written' | 'lost'>();
          onSaved = (outcome) =>
            typeof outcome === 'string' ? saved.resolve(outcome) : saved.reject(new Error(outcome.failed));
          channel.send({ kind: 'save', run, ...kept });
          channel.flush();
          return saved.promise;
        },
      }),
    );
    active.set(run, { look: handler.look, onSaved: (outcome) => onSaved(outcome) });
    void handler.end.then((end) => {
      isEnded = true;
      active.delete(run);
      // Sent before the end, so that the host does not charge the job for its cell.
      if (end.kind === 'threw') lookAtHealth(true);
      channel.send({ kind: 'ended', run, end });
    });
  };

  /** A fault from loading the module would be the same in every cell. */
  const usual = probe.fault(true);
  probe.beat();
  const lookAtHealth = (hasFailed: boolean) => {
    const fault = probe.fault(hasFailed);
    if (fault !== undefined && fault !== usual) channel.send({ kind: 'unwell', fault });
  };

  const flush = async (): Promise<void> => {
    await registry.flush?.().catch((error: unknown) => log.error('flush failed', error));
  };

  return {
    onMessage,
    /** A suspended host sends no messages, so this checks the leases here. */
    look() {
      probe.beat();
      lookAtHealth(false);
      for (const { look } of active.values()) look();
    },
  };
}

function reasonIn(clock: Clock, grant: RunGrant, run: number): AbortReason | undefined {
  if (grant.run !== run) return new LeaseLost('ended');
  if (grant.stop !== 0 && grant.stop !== WITHDRAWN) return numberedReason(grant.stop, grant.limitMs);
  const isHeld = clock.now() < grant.endsAt.wall && clock.monotonic() < grant.endsAt.monotonic;
  return isHeld ? undefined : new LeaseLost('lapsed');
}
