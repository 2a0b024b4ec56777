import type { ClaimEnd } from '../protocol/job.ts';

/** What a moment in the life of a job may be. How a claim ended is its own kind, except for a lapse: that is a reclaim. */
export type MomentKind =
  | 'created'
  | 'claimed'
  | 'heartbeat'
  | 'checkpoint'
  | 'killed'
  | 'paused'
  | 'resumed'
  | 'lapsed'
  | 'reclaimed'
  | 'fenced'
  | 'refused'
  | 'cancelRequested'
  | 'revived'
  | 'quarantined'
  | 'finished'
  | 'log'
  | Exclude<ClaimEnd, 'lapsed'>;

/** One thing that happened to a job: told by its row, or seen by an onlooker. */
export interface Moment {
  readonly at: number;
  readonly kind: MomentKind;
  readonly attempt?: number;
  /** The claim's owner, or the process. */
  readonly by?: string;
  /** More in words: an error, a reason, a line of a log. */
  readonly text?: string;
}

/** The kind of moment for each way in which a claim ends. */
export const endingKinds: Readonly<Record<ClaimEnd, MomentKind>> = {
  done: 'done',
  retried: 'retried',
  failed: 'failed',
  released: 'released',
  takenBack: 'takenBack',
  cancelled: 'cancelled',
  lapsed: 'reclaimed',
  crashed: 'crashed',
};

/** What each kind of moment means, in one sentence without its text. */
export const sentences: Readonly<Record<MomentKind, (moment: Moment) => string>> = {
  created: () => 'its row was written',
  claimed: ({ by }) => `claimed by ${by ?? 'a worker'}`,
  heartbeat: () => 'heartbeat',
  checkpoint: () => 'checkpoint saved',
  killed: () => 'its worker was killed',
  paused: () => 'its worker was paused',
  resumed: () => 'its worker was resumed',
  lapsed: () => 'its lease ended without a heartbeat',
  reclaimed: () => 'its lease lapsed; the reaper reclaimed the job',
  fenced: ({ by }) => `fenced: whatever ${by ?? 'the old claim'} still writes is refused`,
  refused: () => 'a write of a fenced claim was refused',
  cancelRequested: ({ by }) => `cancellation requested by ${by ?? 'an operator'}`,
  revived: ({ by }) => `revived by ${by ?? 'an operator'}`,
  quarantined: () => 'quarantined',
  finished: () => 'finished',
  log: () => 'log',
  done: () => 'its handler returned',
  retried: () => 'its handler threw; the job will be retried',
  failed: () => 'its handler threw; the job failed',
  released: () => 'released by its worker (deadline or shutdown)',
  takenBack: () => 'an operator took the job back',
  crashed: () => 'its cell died; its host started the job again',
  cancelled: () => 'stopped, because an operator cancelled it',
};
