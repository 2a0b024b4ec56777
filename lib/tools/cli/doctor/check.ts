import type { Dispatch } from '../../../protocol/decisions/dispatch.ts';
import type { RowWrite } from '../../../protocol/writes/row-write.ts';

/** Something that a check found wrong, and what to do about it. */
export interface Finding {
  readonly severity: 'problem' | 'warning';
  readonly says: string;
  /** What the operator does, or what --repair would do. */
  readonly next: string;
  readonly jobId?: string;
  readonly repair?: Repair;
}

/** A conditional write that repairs a row, provided that it is still as it was when checked. */
export interface Repair {
  readonly write: RowWrite;
  /** To be written after all others, and only if none of them failed. */
  readonly isLast?: true;
  /** Where the job becomes pending: the hint to send after. */
  readonly dispatch?: Dispatch;
}

/** The result of one check. */
export type CheckResult =
  | { readonly check: string; readonly outcome: 'checked'; readonly findings: readonly Finding[] }
  | { readonly check: string; readonly outcome: 'failed'; readonly reason: string }
  /** Skipped because the operator asked for it. */
  | { readonly check: string; readonly outcome: 'skipped'; readonly reason: string };

/** Runs one check; whatever keeps it from its answer is an answer of its own, and leaves the other checks alone. */
export async function runCheck(
  check: string,
  body: () => Promise<readonly Finding[]> | readonly Finding[],
): Promise<CheckResult> {
  try {
    return { check, outcome: 'checked', findings: await body() };
  } catch (error) {
    return { check, outcome: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}

export const problem = (says: string, next: string): Finding => ({ severity: 'problem', says, next });
export const warning = (says: string, next: string): Finding => ({ severity: 'warning', says, next });
