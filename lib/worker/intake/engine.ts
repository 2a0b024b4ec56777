import type { ClaimOutcome } from '../../protocol/decisions/decide-claim.ts';
import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import { BadRowError } from '../../protocol/errors.ts';
import type { ClaimRequest, ReceivedMessage } from '../../protocol/ports.ts';
import type { NewJob } from '../../protocol/writes/worker-writes.ts';
import { eventDetailOf } from '../../wire/events.ts';
import type { PayloadCheck } from '../cells/cells.ts';
import { termsOf } from '../registry.ts';
import { readClock } from '../run/lease-clock.ts';
import { type ClaimedJob, type ClaimRunner, createClaimRunner } from '../run/run-claim.ts';
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
type Settled = { readonly kind: 'settled' };
/** Nothing could be made of the message now: it goes back into the queue for a while. */
type Returned = { readonly kind: 'returned'; readonly delaySeconds: number };

type Opened = Claimable | Settled | Returned;
type Claimed = ({ readonly kind: 'claimed' } & ClaimedJob) | Settled | Returned;

/** What every host does with messages: open, claim, run. */
export interface Engine extends ClaimRunner {
  /** Reads a message; one that needs no claim (a bad one, one for later) is dealt with at once. */
  open(message: ReceivedMessage): Promise<Opened>;
  /** Claims the jobs of messages opened together, with one request for up to 25 new ones. */
  claim(opened: readonly Claimable[]): Promise<readonly Claimed[]>;
  /** These are not claimed after all. */
  forget(opened: readonly Claimable[]): void;
}

const SETTLED: Settled = { kind: 'settled' };
/** A message that met a broken store comes back after 2, 4, 8 … seconds. */
const LONGEST_RETURN_SECONDS = 300;

export function createEngine(parts: WorkerParts): Engine {
  const { settings, clock, chance, store, telemetry, cells, brake } = parts;
  const runner = createClaimRunner(parts);

  const returned = ({ receiveCount }: ReceivedMessage): Returned => ({
    kind: 'returned',
    delaySeconds: Math.min(LONGEST_RETURN_SECONDS, 2 ** Math.max(1, receiveCount)),
  });

  /** A type whose cells keep dying is left in the queue for a while. */
  const heldBack = (type: string | undefined): Returned | undefined => {
    const holdsMs = type === undefined ? 0 : brake.holdsTypeMs(type);
    return holdsMs > 0 ? { kind: 'returned', delaySeconds: Math.ceil(holdsMs / 1000) } : undefined;
  };

  const open = async (message: ReceivedMessage): Promise<Opened> => {
    const read = readMessage(message, parts, cells.find);
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
    return (
      heldBack(type) ??
      (read.kind === 'hint' ? { kind: 'claimable', message, type, job: read.job } : openNew(message, read))
    );
  };

  /** The schema is asked before the claim, so that a row under the producer's id is never a bad one. */
  const openNew = async (
    message: ReceivedMessage,
    read: Extract<ReadMessage, { kind: 'new' | 'later' }>,
  ): Promise<Opened> => {
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
  };

  /** What follows from the store's answer; all refusals but one are as good as done, because the row is safe. */
  const judge = async (
    outcome: ClaimOutcome,
    claimable: Claimable,
    sentAt: ClaimedJob['sentAt'],
  ): Promise<Claimed> => {
    switch (outcome.outcome) {
      case 'claimed': {
        telemetry.count('JobsClaimed');
        if (claimable.dueAt !== undefined && outcome.job.attempt === 1)
          telemetry.timeOfType?.('WaitTime', outcome.job.type, Math.max(0, sentAt.wall - claimable.dueAt));
        return { kind: 'claimed', job: outcome.job, sentAt, ...placeFor(claimable, outcome.job.payload) };
      }
      case 'cancelRequested': {
        const { jobId, attempt } = outcome.job;
        const ended = await store.cancelPending({ jobId, attempt });
        if (ended.outcome !== 'written') return SETTLED;
        telemetry.count('JobsCancelled');
        runner.publish([
          { name: 'JobCancelled', detail: { ...eventDetailOf(outcome.job), at: clock.now() } },
        ]);
        return SETTLED;
      }
      case 'withoutData':
        runner.lostItsData(outcome.job, outcome.error);
        return SETTLED;
      case 'newer':
        telemetry.error('job left alone', outcome.error, { jobId: claimable.job.jobId });
        telemetry.count('RowsTooNew');
        // Somebody must be woken for it: such jobs wait for the newer version.
        telemetry.count('StoreFailures');
        return SETTLED;
      case 'absent':
      case 'finished':
      case 'cancelled':
      case 'held':
      case 'notYet':
      case 'contended':
        return SETTLED;
    }
  };

  /** The claim may have been granted all the same: it is released, as far as that can be done. */
  const unknown = async (owner: string, { job, message }: Claimable, error: unknown): Promise<Claimed> => {
    telemetry.error('claim failed', error, { jobId: job.jobId });
    const dispatch = planDispatch(clock.now(), clock.now(), settings);
    await store.releaseUnknown(job.jobId, owner, dispatch).catch(() => {});
    // A row that cannot be read does not get better by the message coming again: the reaper finds it.
    return error instanceof BadRowError ? SETTLED : returned(message);
  };

  const requestFor = ({ job, message }: Claimable, owner: string): ClaimRequest => ({
    job,
    owner,
    again: message.receiveCount > 1,
    termsOf: (type) => {
      const options = cells.find(type);
      return options && termsOf(options, settings);
    },
  });

  const claimOne = async (claimable: Claimable): Promise<Claimed> => {
    const owner = `${parts.worker}/${chance.unique()}`;
    const sentAt = readClock(clock);
    try {
      return await judge(await store.claim(requestFor(claimable, owner)), claimable, sentAt);
    } catch (error) {
      return unknown(owner, claimable, error);
    }
  };

  const claimTogether = async (claimables: readonly Claimable[]): Promise<Claimed[]> => {
    if (claimables.length === 0) return [];
    const requests = claimables.map((each) => requestFor(each, `${parts.worker}/${chance.unique()}`));
    const sentAt = readClock(clock);
    const outcomes = await store.claimMany(requests);
    return Promise.all(
      claimables.map(async (claimable, i) => {
        const outcome = outcomes[i];
        const owner = requests[i]?.owner ?? '';
        if (outcome === undefined || outcome.outcome === 'failed')
          return unknown(owner, claimable, outcome?.error);
        return judge(outcome, claimable, sentAt).catch((error: unknown) => unknown(owner, claimable, error));
      }),
    );
  };

  const forget = (opened: readonly Claimable[]): void => {
    for (const { check } of opened) if (check !== undefined) cells.forget(check);
  };

  return {
    ...runner,

    async open(message) {
      try {
        return await open(message);
      } catch (error) {
        telemetry.error('message could not be dealt with', error, { messageId: message.messageId });
        return returned(message);
      }
    },

    async claim(opened) {
      const claimed = await claimAll(opened);
      forget(opened.filter((_, i) => claimed[i]?.kind !== 'claimed'));
      return claimed;
    },
    forget,
  };

  async function claimAll(opened: readonly Claimable[]): Promise<readonly Claimed[]> {
    if (!(await parts.clockCheck.isSound())) return opened.map(({ message }) => returned(message));
    const verdicts = new Map<Claimable, Claimed>();
    for (const each of opened) {
      // Asked again: some have waited for others, or for a slot.
      const held = heldBack(each.type);
      if (held !== undefined) verdicts.set(each, held);
    }
    const open = opened.filter((each) => !verdicts.has(each));
    // A batch takes each row once: a second message for the same job is claimed after it, and then refused.
    const firsts = [...new Map(open.map((each) => [each.job.jobId, each] as const).reverse()).values()];
    const [only] = firsts;
    const claimed =
      firsts.length === 1 && only !== undefined ? [await claimOne(only)] : await claimTogether(firsts);
    for (const [i, outcome] of claimed.entries()) verdicts.set(firsts[i] as Claimable, outcome);
    for (const each of open) if (!verdicts.has(each)) verdicts.set(each, await claimOne(each));
    return opened.map((each) => verdicts.get(each) as Claimed);
  }
}

/** The payload that was checked is the row's, unless an earlier message came first. */
function placeFor({ check, job }: Claimable, payload: string): Pick<ClaimedJob, 'checked' | 'suspicion'> {
  if (check?.kind === 'unanswered') return { suspicion: check.suspicion };
  if (check?.kind !== 'accepted' || !('payload' in job) || job.payload !== payload) return {};
  return { checked: check.token };
}
