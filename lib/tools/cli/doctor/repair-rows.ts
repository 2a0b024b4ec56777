import { wasApplied } from '../../../protocol/store/store-parts.ts';
import { type Dispatched, sendHintsFor } from '../operate.ts';
import type { System } from '../system/system.ts';
import type { Output } from '../terminal/output.ts';
import type { Finding, Repair } from './check.ts';

export interface Repaired {
  readonly finding: Finding;
  readonly jobId: string;
  /** `moved`: the row changed after the check and stays as it is. */
  readonly outcome: 'repaired' | 'moved' | 'failed';
  readonly message: string;
}

type Repairable = Finding & { readonly jobId: string; readonly repair: Repair };

export const isRepairable = (finding: Finding): finding is Repairable =>
  finding.repair !== undefined && finding.jobId !== undefined;

export async function repairRows(
  system: System,
  output: Output,
  findings: readonly Repairable[],
): Promise<Repaired[]> {
  const results: Repaired[] = [];
  const hints: Dispatched[] = [];
  for (const finding of findings) {
    const { jobId, repair, next } = finding;
    try {
      const applied = wasApplied(repair.write, await system.table.apply(repair.write));
      if (applied && repair.dispatch !== undefined)
        hints.push({ jobId, type: repair.type, dispatch: repair.dispatch });
      results.push(
        applied
          ? { finding, jobId, outcome: 'repaired', message: next }
          : { finding, jobId, outcome: 'moved', message: 'changed since it was checked; left as it is' },
      );
    } catch (error) {
      results.push({
        finding,
        jobId,
        outcome: 'failed',
        message: error instanceof Error ? error.message : String(error),
      });
    }
  }
  await sendHintsFor(system, output, hints);
  return results;
}
