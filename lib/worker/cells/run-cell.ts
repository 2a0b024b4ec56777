import { writeFileSync } from 'node:fs';
import { systemClock } from '../../aws/clock.ts';
import { cutToBytes } from '../../protocol/rows/json-text.ts';
import type { JobDefinition, JobOptions } from '../define-job.ts';
import { type Registry, UnknownTypeError } from '../registry.ts';
import { type CellChannel, takeChannel } from './cell-channel.ts';
import type { CellOrders } from './cell-orders.ts';
import type { RunMessage, SaveOutcome, ToCell } from './channel.ts';
import { SchemaSilentError } from './check-schema.ts';
import { describeError } from './describe-error.ts';
import { checkText } from './handler-job.ts';
import { createCellLog, currentJob, redirectConsole } from './output.ts';
import { ENDED, fromRevocation, LAPSED, NOT_REVOKED, WITHDRAWN } from './revocation.ts';
import { type StartedHandler, startHandler } from './run-handler.ts';
import { type CellSlate, openSlate, type SlotEntry } from './slate.ts';
import { thrownBy } from './thrown.ts';

/** Where the slate is among the descriptors that a cell is started with. */
export const SLATE_DESCRIPTOR = 4;
const MAX_ERROR_BYTES = 16 * 1024;
/** The kernel ends a cell before its host. */
const FIRST_TO_GO = '1000';

interface Active {
  readonly handler: StartedHandler;
  onSaved(outcome: SaveOutcome): void;
}

/** Turns this process into a cell: it runs handlers for the host that started it, and nothing else. */
export function runCell(orders: CellOrders, load: () => Promise<Registry>): void {
  const slate = openSlate(SLATE_DESCRIPTOR);
  const log = createCellLog({
    serviceName: orders.serviceName,
    environment: process.env,
    isTerminal: process.stdout.isTTY === true,
    now: () => systemClock.now(),
  });
  const channel = takeChannel((message) => hear(message));
  const pulse = createPulse(slate);
  const active = new Map<number, Active>();
  const checked = new Map<number, { readonly value: unknown }>();
  let registry: Registry | undefined;

  prepareProcess(slate, channel);
  redirectConsole(log);
  load().then(
    (loaded) => {
      registry = loaded;
      channel.say({ kind: 'ready', types: loaded.definitions.map(optionsOf) });
    },
    (error: unknown) => {
      channel.say({ kind: 'unloadable', text: cutToBytes(textOf(error), MAX_ERROR_BYTES) });
      channel.flush();
      process.exit(UNLOADABLE);
    },
  );

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
    const schema = registry?.find(type)?.payload;
    pulse.begin(orders.pulseMs);
    try {
      if (schema === undefined) return channel.say({ kind: 'checked', check, answer: 'unanswered' });
      const answer = await checkText(schema, payload, systemClock);
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
    const definition = registry?.find(job.type);
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
    const named = { jobId: job.jobId, type: job.type, attempt: job.attempt, requestId, traceId };
    const handler = currentJob.run(named, () =>
      startHandler({
        ...{ definition, job, clock: systemClock, log, checked: seen },
        maxCheckpointBytes: orders.maxCheckpointBytes,
        maxResultBytes: orders.maxResultBytes,
        progressIntervalMs: message.progressIntervalMs,
        reasonNow: () => reasonIn(slate.read(slot), run),
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
    await registry?.flush?.().catch((error: unknown) => log.error('flush failed', error));
  };
}

/** The exit code of a cell whose jobs module could not be loaded. */
const UNLOADABLE = 78;

/** Only where the jobs module was changed after the host asked which types it has. */
const unknownType = (type: string) => ({
  kind: 'threw' as const,
  error: thrownBy(new UnknownTypeError(type, [])),
});

const isOver = ({ run, revoked }: SlotEntry, mine: number): boolean =>
  run !== mine || revoked !== NOT_REVOKED;

/** Why a run must stop, from what the slate says and from how old its lease is. */
function reasonIn(entry: SlotEntry, run: number) {
  if (entry.run !== run) return fromRevocation(ENDED);
  if (entry.revoked !== NOT_REVOKED && entry.revoked !== WITHDRAWN.revoked) return fromRevocation(entry);
  const { wall, monotonic } = entry.grantedAt;
  const age = Math.max(systemClock.now() - wall, systemClock.monotonic() - monotonic);
  return age < entry.leaseMs ? undefined : fromRevocation(LAPSED);
}

/** Shows the host that the event loop turns, while there is something to show it for. */
function createPulse(slate: CellSlate) {
  let busy = 0;
  let everyMs = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    begin(pulseMs: number) {
      busy += 1;
      if (busy > 1 && pulseMs >= everyMs) return;
      everyMs = pulseMs;
      clearInterval(timer);
      slate.pulse();
      timer = setInterval(() => slate.pulse(), everyMs);
      timer.unref();
    },
    end() {
      busy -= 1;
      if (busy === 0) clearInterval(timer);
    },
  };
}

function prepareProcess(slate: CellSlate, channel: CellChannel): void {
  // Sent to the host, which asks its cells in its own way.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.on('uncaughtExceptionMonitor', (error, origin) => {
    const job = currentJob.getStore();
    slate.lastWords(
      JSON.stringify({
        origin,
        error: cutToBytes(describeError(error), MAX_ERROR_BYTES / 4),
        jobId: job?.jobId,
      }),
    );
    channel.flush();
  });
  const { abort } = process;
  process.abort = () => {
    slate.lastWords(JSON.stringify({ origin: 'abort' }));
    return abort();
  };
  process.on('exit', (code) => slate.lastWords(JSON.stringify({ origin: 'exit', code })));
  try {
    writeFileSync('/proc/self/oom_score_adj', FIRST_TO_GO);
  } catch {
    // Not Linux, or not allowed: then the kernel chooses by size alone.
  }
}

const optionsOf = ({
  type,
  lease,
  maxAttempts,
  maxCrashes,
  backoff,
  maxRunMs,
  progressTimeoutMs,
  maxStallMs,
}: { readonly type: string } & JobOptions) => ({
  ...{ type, lease, maxAttempts, maxCrashes, backoff, maxRunMs, progressTimeoutMs, maxStallMs },
});

const textOf = (error: unknown): string =>
  error instanceof Error && error.name === 'JobsModuleError' ? error.message : thrownBy(error).text;
