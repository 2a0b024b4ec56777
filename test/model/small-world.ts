import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import type { Claim, RunningJob } from '../../lib/protocol/job.ts';
import { parseLeaseEntry } from '../../lib/protocol/rows/parse-row.ts';
import { clauseHolds, rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import { cancelWrite, takeBackWrite } from '../../lib/protocol/writes/operator-writes.ts';
import { reapWrite } from '../../lib/protocol/writes/reaper-writes.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import {
  cancelRunningWrite,
  checkpointWrite,
  claimWrite,
  completeWrite,
  failWrite,
  heartbeatWrite,
  releaseWrite,
  restartWrite,
  retryWrite,
  type WriteContext,
} from '../../lib/protocol/writes/worker-writes.ts';
import { ROW_FORMAT } from '../../lib/wire/table.ts';

/**
 * One job in a world small enough to visit every state of it: the real writes and the real decision of the reaper, two
 * workers and a reaper whose clocks are as far apart as they may be, cells that die while their hosts hold the lease, an operator, a
 * network that delays, repeats and loses, an index that lags. Times are ticks.
 */

const LEASE = 2;
export const SKEW = 2;
const DISPATCH_LEASE = 1;
/** The worst that clocks may do: the first worker's is behind, the second worker's and the reaper's are ahead. */
const OFFSETS = { w0: -1, w1: 1, reaper: 1 } as const;
const JOB = { jobId: 'j', type: 't', payload: '1', leaseMs: LEASE, maxAttempts: 3, maxCrashes: 2 };
const MAX_LAPSES = 2;
const DISPATCH = {
  dispatchLeaseMs: DISPATCH_LEASE,
  dispatchLeaseCapMs: DISPATCH_LEASE,
  reaperIntervalMs: 1,
};

/** The protocol as it is, or with one mistake in it. */
export interface Variation {
  readonly alter: (write: RowWrite) => RowWrite;
  /** How much skew the reaper allows for. */
  readonly allowedSkew: number;
  /** The lease of a claim that a restart made is counted from the last offer of it, not from the one that was accepted. */
  readonly countsFromLastOffer: boolean;
}
export const SOUND: Variation = {
  alter: (write) => write,
  allowedSkew: SKEW,
  countsFromLastOffer: false,
};

const reapSettings = ({ allowedSkew }: Variation) => ({
  ...{ skewMs: allowedSkew, maxReleases: 5, maxLapses: MAX_LAPSES },
  ...DISPATCH,
});

export type WorkerName = 'w0' | 'w1';
export type End = 'complete' | 'retry' | 'release' | 'cancelRunning';
export type OperatorKind = 'takeBack' | 'requestCancel';

/** A write on its way, by what it was made from: the row's part of a state stays small. */
export interface Sent {
  readonly kind: 'claim' | 'heartbeat' | 'save' | 'restart' | End | 'reap' | OperatorKind;
  readonly id: number;
  /** By the sender's clock. */
  readonly at: number;
  /** By the true one. */
  readonly sentAt: number;
  readonly owner: string;
  readonly attempt: number;
  /** For a reaper: the index entry that it acts on. For a worker's end: the row that it claimed. For an operator: the row. */
  readonly seen?: Row;
  /** Of a restart: the name of the claim that it makes, the same in every offer of it, and whether the death is charged. */
  readonly nextOwner?: string;
  readonly isCharged?: boolean;
}

/** What a worker knows. It is told of a grant at once or never: later is as good as never, since its lease runs from the sending. */
export interface WorkerState {
  readonly phase: 'idle' | 'claiming' | 'running' | 'restarting';
  readonly owner: string;
  readonly attempt: number;
  /** True time at which its lease ends, as it counts itself. */
  readonly until: number;
  /** The row as it was claimed, with what its checkpoint changed. */
  readonly claimed?: Row;
  /** It does not know whether its checkpoint stands. */
  readonly isSaving?: boolean;
  /** The restart that it offers. */
  readonly offered?: Sent;
}

export interface State {
  readonly now: number;
  readonly row?: Row;
  /** Versions of the row that the index may still show, the newest last. */
  readonly versions: readonly Row[];
  readonly net: readonly Sent[];
  readonly messages: number;
  readonly workers: Readonly<Record<WorkerName, WorkerState>>;
  /** How much may still happen, so that there is an end to it. */
  readonly left: Left;
  readonly ids: number;
  /** The claim that truly has the lease. */
  readonly holder: string;
  /** The claim that an operator took from its worker, who may work on for a while: that is the operator's will. */
  readonly taken?: string;
  readonly broken?: string;
}

export interface Left {
  readonly claims: number;
  readonly beats: number;
  readonly reaps: number;
  readonly faults: number;
  /** Deaths of cells, whose hosts live on. */
  readonly deaths: number;
  /** Further offers of a restart that got no answer. */
  readonly offers: number;
  readonly saves: number;
  readonly operators: number;
}

export const IDLE: WorkerState = { phase: 'idle', owner: '', attempt: 0, until: 0 };
const MOST_VERSIONS = 3;
const MOST_MESSAGES = 2;

/** A job that was lost once and waits for its next worker. */
export const LOST_ONCE: Row = {
  ...{ jobId: JOB.jobId, format: ROW_FORMAT, type: JOB.type, status: 'pending', changedBy: '0' },
  ...{ attempt: 1, errors: 0, crashes: 0, lapses: 1, releases: 0, cancelRequested: false, checkpointSeq: 0 },
  ...{ leaseShard: 'q0', leaseUntil: DISPATCH_LEASE, leaseMs: LEASE, notBefore: 0, dispatches: 1 },
  ...{ maxAttempts: JOB.maxAttempts, maxCrashes: JOB.maxCrashes },
};

export const start = (left: Left, row?: Row): State => ({
  ...{ now: 0, net: [], versions: row === undefined ? [] : [row], messages: 1, ids: 1, holder: '' },
  workers: { w0: IDLE, w1: IDLE },
  left,
  ...(row === undefined ? undefined : { row }),
});

/** The conditional write, as the core itself makes it. */
function render(sent: Sent, variation: Variation): RowWrite | undefined {
  const context = { changedBy: String(sent.id), now: sent.at, shards: 1, expiresAt: 1 };
  const claim: Claim = { jobId: JOB.jobId, owner: sent.owner, attempt: sent.attempt, startedAt: 0 };
  const dispatch = planDispatch(sent.at, sent.at, DISPATCH);
  const errors = Number(sent.seen?.errors ?? 0);
  switch (sent.kind) {
    case 'claim':
      return claimWrite({ job: JOB, owner: sent.owner, skewMs: SKEW, typeLimits: JOB }, context);
    case 'heartbeat':
      return heartbeatWrite(claim, sent.at + LEASE, context);
    case 'complete':
      return completeWrite(claim, undefined, context);
    case 'release':
      return releaseWrite(claim, { errors, releases: Number(sent.seen?.releases) + 1, dispatch }, context);
    case 'retry':
      return errors + 1 + Number(sent.seen?.crashes) >= JOB.maxAttempts
        ? failWrite(claim, { errors: errors + 1, lastError: 'x' }, context)
        : retryWrite(claim, { errors: errors + 1, lastError: 'x', dispatch }, context);
    case 'save': {
      const spent = Number(sent.seen?.crashes ?? 0) + Number(sent.seen?.lapses ?? 0);
      const releases = Number(sent.seen?.releases ?? 0) + spent;
      const counts = spent > 0 ? { crashes: 0, lapses: 0, releases } : undefined;
      return checkpointWrite(claim, { seq: sent.attempt, checkpoint: 'further', counts }, context);
    }
    case 'cancelRunning':
      return cancelRunningWrite(claim, context);
    case 'takeBack':
      return takeBackWrite(asJob(sent.seen), dispatch, context);
    case 'requestCancel':
      return cancelWrite(asJob(sent.seen), context);
    case 'restart':
      return restartOf(sent, claim, context);
    case 'reap': {
      const entry = parseLeaseEntry(sent.seen ?? {});
      const settings = reapSettings(variation);
      const verdict = decideReap(entry, { now: sent.at, random: 0, settings });
      return verdict.kind === 'leave' ? undefined : reapWrite(entry, verdict, context);
    }
  }
}

const asJob = (row: Row | undefined) => ({ acted: 0, startedAt: 0, ...row }) as unknown as RunningJob;

/** A host whose cell died: the job is charged or not, and claimed again by the same write unless its budget is spent. */
function restartOf(
  { seen, nextOwner = '', isCharged = true }: Sent,
  claim: Claim,
  context: WriteContext,
): RowWrite {
  const errors = Number(seen?.errors ?? 0);
  const crashes = Number(seen?.crashes ?? 0) + (isCharged ? 1 : 0);
  const isSpent = crashes >= JOB.maxCrashes || errors + crashes >= JOB.maxAttempts;
  if (isSpent) return failWrite(claim, { errors, crashes, lastError: 'x' }, context);
  const releases = Number(seen?.releases ?? 0) + (isCharged ? 0 : 1);
  const next = { owner: nextOwner, leaseMs: LEASE, crashes, releases, lastError: 'x', diedAt: context.now };
  return restartWrite(claim, next, context);
}

/** What a row needs to be told from another: claims of the past and constants are left out of the state. */
const KEPT = [
  ...[
    'jobId',
    'format',
    'type',
    'status',
    'attempt',
    'errors',
    'crashes',
    'lapses',
    'releases',
    'leaseOwner',
    'leaseUntil',
    'leaseMs',
  ],
  ...[
    'leaseShard',
    'notBefore',
    'dispatches',
    'cancelRequested',
    'checkpointSeq',
    'acted',
    'changedBy',
    'maxAttempts',
    'maxCrashes',
    'expiresAt',
  ],
];
const slim = (row: Row): Row =>
  Object.fromEntries(KEPT.filter((name) => row[name] !== undefined).map((name) => [name, row[name]]));

export const believesLive = (worker: WorkerState, now: number): boolean =>
  worker.phase === 'running' && now < worker.until;

/** The table takes a write: applied or refused, and judged. Whoever sent it learns of it, unless the reply is lost. */
export function deliver(state: State, sent: Sent, variation: Variation, replyIsLost: boolean): State {
  const intended = render(sent, variation);
  const write = intended && variation.alter(intended);
  const before = state.row;
  const applied = write?.when.some((all) => all.every((clause) => clauseHolds(clause, before))) ?? false;
  const row = applied && write !== undefined ? slim(rowAfter(write, before)) : before;
  const broken = applied && row !== undefined ? judge(state, sent, row) : undefined;
  const next: State = {
    ...state,
    row,
    versions: applied && row !== undefined ? [...state.versions, row].slice(-MOST_VERSIONS) : state.versions,
    holder: row?.status !== 'running' ? '' : applied ? holderAfter(sent, state.holder) : state.holder,
    ...(applied && sent.kind === 'takeBack' ? { taken: state.holder } : undefined),
    broken,
  };
  return replyIsLost ? next : learn(next, sent, variation);
}

/** A worker that has just been granted a claim. */
const runs = (sent: Sent, row: Row, until = sent.sentAt + LEASE): WorkerState => ({
  ...{ phase: 'running', owner: sent.nextOwner ?? sent.owner, attempt: Number(row.attempt), until },
  claimed: row,
});

const holderAfter = ({ kind, owner, nextOwner }: Sent, before: string): string =>
  kind === 'claim' ? owner : (nextOwner ?? before);

/** By the reply, or by the refusal of the SDK's repeat: either way the row says whose it is, and who changed it last. */
function learn(state: State, sent: Sent, variation: Variation): State {
  const { row } = state;
  const isMine = row?.status === 'running' && row.leaseOwner === (sent.nextOwner ?? sent.owner);
  const found = Object.entries(state.workers).find(([, { owner }]) => owner !== '' && owner === sent.owner);
  const [name, me] = found ?? [];
  const become = (worker: WorkerState): State =>
    name === undefined ? state : { ...state, workers: { ...state.workers, [name]: worker } };
  switch (sent.kind) {
    case 'claim': {
      if (me?.phase !== 'claiming') return state;
      const told = isMine ? become(runs(sent, row)) : become(IDLE);
      // Granted or refused, the message is acknowledged: the row is safe.
      return { ...told, messages: Math.max(0, state.messages - 1) };
    }
    case 'restart': {
      if (me?.phase !== 'restarting' || name === undefined) return state;
      const offset = OFFSETS[name as WorkerName];
      const until = variation.countsFromLastOffer ? undefined : Number(row?.leaseUntil) - offset;
      if (isMine) return become(runs(sent, row, until));
      const isToBeCancelled =
        row?.status === 'running' && row.leaseOwner === me.owner && row.cancelRequested === true;
      if (!isToBeCancelled) return become(IDLE);
      const { owner, attempt } = me;
      const cancels: Sent = { ...sent, kind: 'cancelRunning', owner, attempt, id: state.ids };
      return { ...become(IDLE), ids: state.ids + 1, net: [...state.net, cancels] };
    }
    case 'save': {
      if (me?.phase !== 'running' || !me.isSaving) return state;
      return isMine ? become(lookedAgain(me, row)) : become({ ...me, until: 0 });
    }
    case 'heartbeat': {
      if (me?.phase !== 'running') return state;
      const extended = isMine && row.attempt === me.attempt && Number(row.leaseUntil) >= sent.at + LEASE;
      return become({ ...me, until: extended ? Math.max(me.until, sent.sentAt + LEASE) : 0 });
    }
    default: {
      const stands = row?.status === 'pending' && row.changedBy === String(sent.id);
      return stands ? { ...state, messages: Math.min(MOST_MESSAGES, state.messages + 1) } : state;
    }
  }
}

/** A worker that knows again what the row says of its claim. */
export const lookedAgain = ({ isSaving: _, ...me }: WorkerState, row: Row | undefined): WorkerState =>
  row?.status === 'running' && row.leaseOwner === me.owner ? { ...me, claimed: row } : me;

/** Failures are listed by the same index, in shards that no sweep reads. */
const isSwept = (row: Row): boolean =>
  row.leaseUntil !== undefined && !String(row.leaseShard).startsWith('f');

const UNFENCED: readonly Sent['kind'][] = ['claim', 'reap', 'takeBack', 'requestCancel'];

/** The promise that this write breaks, if any. */
function judge(state: State, sent: Sent, after: Row): string | undefined {
  const before = state.row;
  const live = Object.values(state.workers).filter(
    (worker) => believesLive(worker, state.now) && worker.owner !== state.taken,
  );
  const isClaim = sent.kind === 'claim' || (sent.kind === 'restart' && after.status === 'running');
  if (isClaim && live.length > 0) return 'two live leases';
  if (
    sent.kind === 'reap' &&
    before?.status === 'running' &&
    live.some(({ owner }) => owner === state.holder)
  )
    return 'a live lease was taken';
  if (!UNFENCED.includes(sent.kind) && sent.owner !== state.holder) return 'a stale write is visible';
  if (before?.status === 'done') return 'a done job was changed';
  const cameBack = (count: 'crashes' | 'lapses') => Number(after[count]) > Number(before?.[count] ?? 0) + 1;
  if (sent.kind !== 'save' && (cameBack('crashes') || cameBack('lapses')))
    return 'crashes or lapses came back that were forgiven';
  const charges = (row: Row | undefined) =>
    Number(row?.errors ?? 0) +
    Number(row?.crashes ?? 0) +
    Number(row?.lapses ?? 0) +
    Number(row?.releases ?? 0);
  if (charges(after) - charges(before) > 1 || charges(after) > Number(after.attempt)) return 'charged twice';
  if (Number(after.attempt) !== Number(before?.attempt ?? 0) + (isClaim ? 1 : 0))
    return 'the attempt is wrong';
  const unfinished = after.status === 'pending' || after.status === 'running';
  if (unfinished !== isSwept(after)) return 'leased to nobody, or for ever';
  const spent =
    Number(after.crashes) >= JOB.maxCrashes ||
    Number(after.lapses) >= MAX_LAPSES ||
    Number(after.errors) + Number(after.crashes) >= JOB.maxAttempts;
  return unfinished && spent ? 'a spent job goes on' : undefined;
}

export const clockOf = (state: State, who: keyof typeof OFFSETS): number => state.now + OFFSETS[who];

/** Whether a reaper acts on a version that the index shows it. */
export const lapses = (state: State, version: Row, variation: Variation): boolean =>
  isSwept(version) &&
  decideReap(parseLeaseEntry(version), {
    now: clockOf(state, 'reaper'),
    random: 0,
    settings: reapSettings(variation),
  }).kind !== 'leave';

export const isOver = ({ row }: State): boolean =>
  row !== undefined && row.status !== 'pending' && row.status !== 'running';
