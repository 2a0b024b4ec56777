import type { Dispatch } from '../protocol/decisions/dispatch.ts';
import { BadRowError } from '../protocol/errors.ts';
import type { Job } from '../protocol/job.ts';
import type { Hint, OperatorOutcome } from '../protocol/ports.ts';
import { type ExitCode, exitCodes } from './cli-error.ts';
import { paintStatus } from './format-job.ts';
import type { Output } from './output.ts';
import { notThere } from './read-job.ts';
import type { System } from './system.ts';

/** What became of one id that an operator named. */
export interface Operated {
  readonly jobId: string;
  readonly outcome: 'written' | 'refused' | 'absent' | 'failed';
  readonly status?: Job['status'];
  readonly says: string;
}

/** A verb on single jobs: what it writes, and what it says on success and refusal. */
export interface Verb {
  readonly apply: (jobId: string) => Promise<OperatorOutcome>;
  readonly done: (job: Job) => string;
  readonly refused: (job: Job) => string;
}

/** Applies the verb to each id in turn; one refusal does not keep the others from being done. */
export async function operate(system: System, ids: readonly string[], verb: Verb): Promise<Operated[]> {
  const results: Operated[] = [];
  for (const jobId of ids) results.push(await operateOn(system, jobId, verb));
  return results;
}

async function operateOn(system: System, jobId: string, verb: Verb): Promise<Operated> {
  try {
    const result = await verb.apply(jobId);
    if (result.outcome === 'absent') return { jobId, outcome: 'absent', says: notThere(jobId, system) };
    const { outcome, job } = result;
    return {
      jobId,
      outcome,
      status: job.status,
      says: outcome === 'written' ? verb.done(job) : verb.refused(job),
    };
  } catch (error) {
    // A row that cannot be read concerns this job alone; a store that does not answer concerns them all.
    if (!(error instanceof BadRowError)) throw error;
    return { jobId, outcome: 'failed', says: error.message };
  }
}

/** Sends the hints that a dispatch asks for. */
export const sendHintsFor = (
  system: System,
  output: Output,
  dispatched: readonly { readonly jobId: string; readonly dispatch: Dispatch }[],
): Promise<void> =>
  sendHints(
    system,
    output,
    dispatched.flatMap(({ jobId, dispatch }): Hint[] =>
      dispatch.hintDelaySeconds === undefined ? [] : [{ jobId, delaySeconds: dispatch.hintDelaySeconds }],
    ),
  );

/** What cannot be sent is sent by the reaper, a little later. */
export async function sendHints(system: System, output: Output, hints: readonly Hint[]): Promise<void> {
  if (hints.length === 0) return;
  const { failed, reason } = await system.queue().sendHints(hints);
  if (failed.length > 0)
    output.note(
      `No hint could be sent for ${failed.join(', ')} (${reason ?? 'no reason given'}); the reaper sends one soon.`,
    );
}

export function reportOperated(output: Output, results: readonly Operated[]): ExitCode {
  output.json({ results });
  const { colours } = output;
  for (const { jobId, outcome, status, says } of results) {
    if (outcome === 'written') output.line(`${colours.green('✓')} ${jobId}  ${says}`);
    else if (!output.isJson)
      output.note(
        `${colours.red('✗')} ${jobId}  ${status === undefined ? '' : `${paintStatus(status, colours)}: `}${says}`,
      );
  }
  return results.every((result) => result.outcome === 'written') ? exitCodes.ok : exitCodes.refused;
}
