import type { Dispatch } from '../../../protocol/decisions/dispatch.ts';
import type { RowWrite } from '../../../protocol/writes/row-write.ts';

export interface Finding {
  readonly severity: 'problem' | 'warning';
  readonly message: string;
  /** What the operator should do, or what --repair would do. */
  readonly next: string;
  readonly jobId?: string;
  readonly repair?: Repair;
}

/** A conditional write, valid only while the row is as it was checked. */
export interface Repair {
  readonly write: RowWrite;
  readonly dispatch?: Dispatch;
  readonly type?: string;
}

export type CheckResult =
  | { readonly check: string; readonly outcome: 'checked'; readonly findings: readonly Finding[] }
  | { readonly check: string; readonly outcome: 'failed'; readonly reason: string }
  | { readonly check: string; readonly outcome: 'skipped'; readonly reason: string };

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

export const problem = (message: string, next: string): Finding => ({ severity: 'problem', message, next });
export const warning = (message: string, next: string): Finding => ({ severity: 'warning', message, next });
