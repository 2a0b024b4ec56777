import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import { isOutage } from '../../protocol/errors.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { NewJob } from '../../protocol/writes/worker-writes.ts';
import { sendHint } from '../run/send-hint.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { forwardHint, forwardJob, runsType } from './forward-message.ts';
import { readMessage } from './read-message.ts';
import { dropLateTick, rejectMessage } from './reject-message.ts';

export interface Claimable {
  readonly kind: 'claimable';
  readonly message: ReceivedMessage;
  readonly job: NewJob | { readonly jobId: string };
  /** Unknown for some hints. */
  readonly type?: string;
  readonly key?: string;
  /** For new jobs: the later of its send time and its start time. */
  readonly dueAt?: number;
}

export type Settled = { readonly kind: 'settled' };
export type Returned = { readonly kind: 'returned'; readonly delaySeconds: number };

export type Opened = Claimable | Settled | Returned;

export const SETTLED: Settled = { kind: 'settled' };
/** Ten deliveries, after which a message is a dead letter, last a quarter of an hour. */
const LONGEST_RETURN_SECONDS = 300;
/** A process notices an outage by its first message, then stops receiving. */
const OUTAGE_RETURN_SECONDS = 5;
/** More deliveries mean that many processes saw the same message, or that only writes fail. */
const SHORT_RETURNS = 3;

export const backoffSeconds = ({ receiveCount }: ReceivedMessage): number =>
  Math.min(LONGEST_RETURN_SECONDS, 2 ** Math.max(1, receiveCount));

export const returned = (message: ReceivedMessage, error?: unknown): Returned => {
  const isShort = isOutage(error) && message.receiveCount <= SHORT_RETURNS;
  return {
    kind: 'returned',
    delaySeconds: Math.min(backoffSeconds(message), isShort ? OUTAGE_RETURN_SECONDS : Infinity),
  };
};

export function throttledType(
  { crashThrottle }: Pick<WorkerParts, 'crashThrottle'>,
  { type, message }: Pick<Claimable, 'type' | 'message'>,
): Returned | undefined {
  const holdsMs = type === undefined ? 0 : crashThrottle.typePausedMs(type);
  if (holdsMs === 0) return undefined;
  // Each host of a fleet may be holding the type, and each delivery counts.
  return { kind: 'returned', delaySeconds: Math.max(Math.ceil(holdsMs / 1000), backoffSeconds(message)) };
}

export async function openMessage(parts: WorkerParts, message: ReceivedMessage): Promise<Opened> {
  const optionsOf = (type: string) => (runsType(parts, type) ? parts.cells.find(type) : undefined);
  const read = readMessage(message, parts, optionsOf);
  if (read.kind === 'rejected') {
    await rejectMessage(parts, read.rejected);
    return SETTLED;
  }
  if (read.kind === 'late') {
    // With a fast clock, every tick would look late.
    if (!(await parts.clockCheck.isSound())) return returned(message);
    dropLateTick(parts, read);
    return SETTLED;
  }
  const type = read.kind === 'hint' ? read.type : read.job.type;
  const isForeign = type !== undefined && !runsType(parts, type);
  if (read.kind !== 'later' && isForeign) {
    // A fast clock would keep the job from its pool's workers until its start time.
    if (!(await parts.clockCheck.isSound())) return returned(message);
    if (read.kind === 'new') await forwardJob(parts, message, read.job);
    else await forwardHint(parts, { ...read, type });
    return SETTLED;
  }
  const held = throttledType(parts, { type, message });
  if (held !== undefined) return held;
  if (read.kind === 'hint')
    return { kind: 'claimable', message, type, key: read.key, job: { jobId: read.jobId } };
  const { job } = read;
  if (read.kind === 'new') return { kind: 'claimable', message, type, key: job.key, job, dueAt: read.dueAt };
  const { clock, store, settings } = parts;
  const dispatch = planDispatch(clock.now(), read.notBefore, settings);
  const kept = await store.schedule(job, dispatch, { redelivered: message.receiveCount > 1 });
  if (kept.outcome === 'written') await sendHint(parts, job, dispatch);
  return SETTLED;
}
