import type { ClaimEnd } from '../../protocol/job.ts';
import { formatDuration } from './format-duration.ts';

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
  /** After a worker's death: how long it took until the next attempt began. */
  readonly ranAgainMs?: number;
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

/** What a worker writes before the cause of a crash. */
const CRASHED = 'crashed: ';

const isCrash = (text: string | undefined): boolean => text?.startsWith(CRASHED) === true;

/** A moment in one line: its sentence, the first line of its text, and when the job ran again. */
export function inOneLine(moment: Moment & { readonly says: string }): string {
  const [text = ''] = (moment.text ?? '').split('\n');
  const cause = isCrash(text) ? text.slice(CRASHED.length) : text;
  const again =
    moment.ranAgainMs === undefined ? '' : `; ran again after ${formatDuration(moment.ranAgainMs)}`;
  return `${moment.says}${cause === '' ? '' : `: ${cause}`}${again}`;
}

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
  failed: ({ text }) => (isCrash(text) ? 'crashed; the job failed' : 'its handler threw; the job failed'),
  released: () => 'released by its worker (deadline or shutdown)',
  takenBack: ({ by }) => `taken back by ${by ?? 'an operator'}`,
  crashed: () => 'crashed',
  cancelled: () => 'stopped, because an operator cancelled it',
};
