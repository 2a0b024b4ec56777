import { type ClaimEnd, causeOfCrash, isCrash, isUncharged } from '../../protocol/job.ts';
import { formatDuration } from './format-duration.ts';

export type MomentKind =
  | 'created'
  | 'claimed'
  | 'heartbeat'
  | 'reclaimed'
  | 'fenced'
  | 'cancelRequested'
  | 'revived'
  | 'finished'
  | Exclude<ClaimEnd, 'lapsed'>;

export interface Moment {
  readonly at: number;
  readonly kind: MomentKind;
  readonly attempt?: number;
  readonly by?: string;
  readonly text?: string;
  readonly ranAgainMs?: number;
}

export const endingKinds: Readonly<Record<ClaimEnd, MomentKind>> = {
  done: 'done',
  retried: 'retried',
  failed: 'failed',
  released: 'released',
  takenBack: 'takenBack',
  parked: 'parked',
  cancelled: 'cancelled',
  lapsed: 'reclaimed',
  crashed: 'crashed',
};

export function inOneLine(moment: Moment & { readonly message: string }): string {
  const [text = ''] = (moment.text ?? '').split('\n');
  const cause = causeOfCrash(text);
  const again =
    moment.ranAgainMs === undefined ? '' : `; ran again after ${formatDuration(moment.ranAgainMs)}`;
  return `${moment.message}${cause === '' ? '' : `: ${cause}`}${again}`;
}

export const sentences: Readonly<Record<MomentKind, (moment: Moment) => string>> = {
  created: () => 'its row was written',
  claimed: ({ by }) => `claimed by ${by ?? 'a worker'}`,
  heartbeat: () => 'heartbeat',
  reclaimed: () => 'its lease lapsed; the reaper reclaimed the job',
  fenced: ({ by }) => `fenced: later writes of ${by ?? 'the old claim'} are refused`,
  cancelRequested: ({ by }) => `cancellation requested by ${by ?? 'an operator'}`,
  revived: ({ by }) => `revived by ${by ?? 'an operator'}`,
  finished: () => 'finished',
  done: () => 'its handler returned',
  retried: () => 'its handler threw; the job will be retried',
  failed: ({ text }) => (isCrash(text) ? 'crashed; the job failed' : 'its handler threw; the job failed'),
  released: () => 'released by its worker (deadline or shutdown)',
  takenBack: ({ by }) => `taken back by ${by ?? 'an operator'}`,
  parked: () => 'parked, because its limit was reached',
  crashed: ({ text }) => (isUncharged(text) ? 'its process died, not charged to this job' : 'crashed'),
  cancelled: () => 'stopped, because an operator cancelled it',
};
