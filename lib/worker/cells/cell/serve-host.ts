import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import { cutToBytes } from '../../../protocol/rows/json-text.ts';
import type { JobDefinition } from '../../define-job.ts';
import { type Registry, UnknownTypeError } from '../../registry.ts';
import type { CellOrders } from '../cell-orders.ts';
import type { RunMessage, SaveOutcome, ToCell } from '../channel.ts';
import { ENDED, fromRevocation, LAPSED, NOT_REVOKED, WITHDRAWN } from '../revocation.ts';
import type { CellSlate, SlotEntry } from '../slate.ts';
import { thrownBy } from '../thrown.ts';
import type { CellChannel } from './cell-channel.ts';
import { SchemaSilentError } from './check-schema.ts';
import { checkText } from './handler-job.ts';
import { currentJob } from './output.ts';
import { type StartedHandler, startHandler } from './run-handler.ts';

export const MAX_ERROR_BYTES = 16 * 1024;

interface Active {
  readonly handler: StartedHandler;
  onSaved(outcome: SaveOutcome): void;
}

/** Shows the host that the event loop turns, while there is something to show it for. */
export interface Pulse {
  begin(everyMs: number): void;
  end(): void;
}

export interface ServeOptions {
  readonly orders: CellOrders;
  /** Undefined while it is being loaded: nothing is asked of a cell before it is ready. */
  readonly registry: () => Registry | undefined;
  readonly slate: CellSlate;
  readonly channel: CellChannel;
  readonly clock: Clock;
  readonly log: Pick<Telemetry, 'info' | 'warn' | 'error'>;
  readonly pulse: Pulse;
}

/** What a cell does with what its host says: checks payloads and runs handlers. */
export function serveHost(options: ServeOptions): (message: ToCell) => void {
  const { orders, registry, slate, channel, clock, log, pulse } = options;
  const active = new Map<number, Active>();
  const checked = new Map<number, { readonly value: unknown }>();

  const hear = (message: ToCell) => {
    switch (message.kind) {
      case 'run':
        return start(message);
      case 'abort':
        return active.get(message.run)?.handler.abort(fromRevocation(message.reason));
      case 'saved':
        return active.get(message.run)?.onSaved(message.outcome);
      case 'check':
        return void check(message);
      case 'forget':
        return void checked.delete(message.check);
      case 'flush':
        return void flush().then(() => channel.say({ kind: 'flushed', turn: message.turn }));
    }
  };

  const check = async ({ check, type, payload }: Extract<ToCell, { kind: 'check' }>): Promise<void> => {
    const schema = registry()?.find(type)?.payload;
    pulse.begin(orders.pulseMs);
    try {
      if (schema === undefined) return channel.say({ kind: 'checked', check, answer: 'unanswered' });
      const answer = await checkText(schema, payload, clock);
      if (answer.ok) checked.set(check, { value: answer.value });
      channel.say(
        answer.ok
          ? { kind: 'checked', check, answer: 'accepted' }
          : { kind: 'checked', check, answer: 'refused', reason: cutToBytes(answer.reason, MAX_ERROR_BYTES) },
      );
    } catch (error) {
      const answer = error instanceof SchemaSilentError ? 'unanswered' : 'refused';
      channel.say({ kind: 'checked', check, answer });
    } finally {
      pulse.end();
    }
  };

  const start = (message: RunMessage) => {
    const { run, slot, job } = message;
    pulse.begin(message.pulseMs);
    // In this order: the host revokes first and then looks whether the run was started, so one of the two sees the other.
    slate.started(slot, run);
    const definition = registry()?.find(job.type);
    if (isOver(slate.read(slot), run)) channel.say({ kind: 'unstarted', run });
    else if (definition === undefined) channel.say({ kind: 'ended', run, end: unknownType(job.type) });
    else return begin(message, definition);
    pulse.end();
  };

  const begin = (message: RunMessage, definition: JobDefinition) => {
    const { run, slot, job, requestId, traceId } = message;
    if (traceId !== undefined) process.env._X_AMZN_TRACE_ID = traceId;
    const seen = message.checked === undefined ? undefined : checked.get(message.checked);
    if (message.checked !== undefined) checked.delete(message.checked);
    let onSaved: Active['onSaved'] = () => {};
    let isEnded = false;
    const named = { jobId: job.jobId, type: job.type, attempt: job.attempt, requestId, traceId };
    const handler = currentJob.run(named, () =>
      startHandler({
        ...{ definition, job, clock, log, checked: seen },
        maxCheckpointBytes: orders.maxCheckpointBytes,
        maxResultBytes: orders.maxResultBytes,
        progressIntervalMs: message.progressIntervalMs,
        reasonNow: () => (isEnded ? fromRevocation(ENDED) : reasonIn(clock, slate.read(slot), run)),
        onProgress: () => slate.progress(slot),
        save(kept) {
          const saved = Promise.withResolvers<'written' | 'lost'>();
          onSaved = (outcome) =>
            typeof outcome === 'string' ? saved.resolve(outcome) : saved.reject(new Error(outcome.failed));
          channel.say({ kind: 'save', run, ...kept });
          channel.flush();
          return saved.promise;
        },
      }),
    );
    active.set(run, { handler, onSaved: (outcome) => onSaved(outcome) });
    void handler.end.then((end) => {
      isEnded = true;
      active.delete(run);
      pulse.end();
      channel.say({
        kind: 'ended',
        run,
        end:
          end.kind === 'threw'
            ? { ...end, error: { ...end.error, text: cutToBytes(end.error.text, MAX_ERROR_BYTES) } }
            : end,
      });
    });
  };

  const flush = async (): Promise<void> => {
    await registry()
      ?.flush?.()
      .catch((error: unknown) => log.error('flush failed', error));
  };

  return hear;
}

/** Only where the jobs module was changed after the host asked which types it has. */
const unknownType = (type: string) => ({
  kind: 'threw' as const,
  error: thrownBy(new UnknownTypeError(type, [])),
});

const isOver = ({ run, revoked }: SlotEntry, mine: number): boolean =>
  run !== mine || revoked !== NOT_REVOKED;

/** Why a run must stop, from what the slate says and from how old its lease is. */
function reasonIn(clock: Clock, entry: SlotEntry, run: number) {
  if (entry.run !== run) return fromRevocation(ENDED);
  if (entry.revoked !== NOT_REVOKED && entry.revoked !== WITHDRAWN.revoked) return fromRevocation(entry);
  const { wall, monotonic } = entry.grantedAt;
  const age = Math.max(clock.now() - wall, clock.monotonic() - monotonic);
  return age < entry.leaseMs ? undefined : fromRevocation(LAPSED);
}
