import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { NewJob } from '../../protocol/writes/worker-writes.ts';
import type { PayloadCheck } from '../cells/cells.ts';
import { sendHint } from '../run/send-hint.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { type ReadMessage, readMessage, refusedPayload } from './read-message.ts';
import { dropLateTick, rejectMessage } from './reject-message.ts';

/** A message that wants a claim. */
export interface Claimable {
  readonly kind: 'claimable';
  readonly message: ReceivedMessage;
  readonly job: NewJob | { readonly jobId: string };
  /** Absent where a hint does not say. */
  readonly type?: string;
  /** When a new job's message was due: sent, and its own time come. */
  readonly dueAt?: number;
  /** What the schema said of a new job's payload. */
  readonly check?: PayloadCheck;
}

/** The message has done its duty and may be deleted: its job is in a row, and the row is safe. */
export type Settled = { readonly kind: 'settled' };
/** Nothing could be made of the message now: it goes back into the queue for a while. */
export type Returned = { readonly kind: 'returned'; readonly delaySeconds: number };

export type Opened = Claimable | Settled | Returned;

export const SETTLED: Settled = { kind: 'settled' };
/** A message that met a broken store comes back after 2, 4, 8 … seconds. */
const LONGEST_RETURN_SECONDS = 300;

export const returned = ({ receiveCount }: ReceivedMessage): Returned => ({
  kind: 'returned',
  delaySeconds: Math.min(LONGEST_RETURN_SECONDS, 2 ** Math.max(1, receiveCount)),
});

/** A type whose cells keep dying is left in the queue for a while. */
export function heldBack(
  { brake }: Pick<WorkerParts, 'brake'>,
  type: string | undefined,
): Returned | undefined {
  const holdsMs = type === undefined ? 0 : brake.holdsTypeMs(type);
  return holdsMs > 0 ? { kind: 'returned', delaySeconds: Math.ceil(holdsMs / 1000) } : undefined;
}

/** Reads a message; one that needs no claim (a bad one, one for later) is dealt with at once. */
export async function openMessage(parts: WorkerParts, message: ReceivedMessage): Promise<Opened> {
  try {
    return await open(parts, message);
  } catch (error) {
    parts.telemetry.error('message could not be dealt with', error, { messageId: message.messageId });
    return returned(message);
  }
}

async function open(parts: WorkerParts, message: ReceivedMessage): Promise<Opened> {
  const read = readMessage(message, parts, parts.cells.find);
  if (read.kind === 'rejected') {
    await rejectMessage(parts, read.rejected);
    return SETTLED;
  }
  if (read.kind === 'late') {
    // By a clock that is ahead, every tick would be late.
    if (!(await parts.clockCheck.isSound())) return returned(message);
    dropLateTick(parts, read);
    return SETTLED;
  }
  const type = read.kind === 'hint' ? read.type : read.job.type;
  const held = heldBack(parts, type);
  if (held !== undefined) return held;
  return read.kind === 'hint'
    ? { kind: 'claimable', message, type, job: read.job }
    : openNew(parts, message, read);
}

/** The schema is asked before the claim, so that a row under the producer's id is never a bad one. */
async function openNew(
  parts: WorkerParts,
  message: ReceivedMessage,
  read: Extract<ReadMessage, { kind: 'new' | 'later' }>,
): Promise<Opened> {
  const { cells, clock, store, settings } = parts;
  const { job } = read;
  const check = await cells.check(job.type, job.payload);
  if (check.kind === 'refused') {
    await rejectMessage(parts, refusedPayload(message, job, check));
    return SETTLED;
  }
  if (read.kind === 'new')
    return { kind: 'claimable', message, type: job.type, job, check, dueAt: read.dueAt };
  cells.forget(check);
  const dispatch = planDispatch(clock.now(), read.notBefore, settings);
  const kept = await store.schedule(job, dispatch, message.receiveCount > 1);
  if (kept.outcome === 'written') await sendHint(parts, job, dispatch);
  return SETTLED;
}
