import { type OtherTransition, REPEATABLE } from '../transitions.ts';

/** On the row of a limit. */
export const limitTransitions = {
  openGroup: { when: 'no row yet', proof: 'the entry is this attempt' },
  admit: {
    when: 'the job’s entry is not above this attempt, or it has none and there is room',
    proof: 'the entry is this attempt',
  },
  leave: {
    when: 'the job’s entry is not above this attempt; with a successor: it has no entry, and no limit is exceeded',
    proof: 'the entry is gone, and the successor’s is this call’s',
  },
  reserve: {
    when: 'none of the jobs has an entry, and there is room for all of them',
    proof: 'the entries are this call’s',
  },
  evict: { when: 'the entries are as read', proof: 'the entries are gone' },
} as const satisfies Record<string, OtherTransition>;

/** On the row of the operators’ controls. */
export const controlTransitions = {
  openControl: { when: 'no row yet', proof: REPEATABLE },
  control: { when: 'the row exists', proof: REPEATABLE },
} as const satisfies Record<string, OtherTransition>;
