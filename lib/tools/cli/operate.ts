import { type Acted, actOnJob } from '../../client/act-on-job.ts';
import { unknownJob } from '../../client/look-up.ts';
import type { Dispatch } from '../../protocol/decisions/dispatch.ts';
import { concernsOneRow } from '../../protocol/errors.ts';
import type { Job, OperatorAct } from '../../protocol/job.ts';
import type { Hint } from '../../protocol/ports.ts';
import { whyRefused } from '../inspect/why-refused.ts';
import { type ExitCode, exitCodes } from './cli-error.ts';
import { paintStatus } from './format-job.ts';
import type { System } from './system.ts';
import type { Output } from './terminal/output.ts';

/** What became of one id that an operator named. */
export interface Operated {
  readonly jobId: string;
  readonly outcome: 'written' | 'refused' | 'absent' | 'failed';
  readonly status?: Job['status'];
  readonly says: string;
}

/** A verb on single jobs: what it writes, and what it says on success. */
export interface Verb {
  readonly act: OperatorAct['act'];
  /** @default - the act by itself, with its hint */
  readonly apply?: (jobId: string) => Promise<Acted>;
  readonly done: (job: Job) => string;
}

/** Applies the verb to each id in turn; one refusal does not keep the others from being done. */
export async function operate(system: System, ids: readonly string[], verb: Verb): Promise<Operated[]> {
  const results: Operated[] = [];
  for (const jobId of ids) results.push(await operateOn(system, jobId, verb));
  return results;
}

async function operateOn(system: System, jobId: string, verb: Verb): Promise<Operated> {
  try {
    const result = await (verb.apply ?? ((id) => actOnJob(system, id, verb.act)))(jobId);
    if (result.outcome === 'absent')
      return { jobId, outcome: 'absent', says: (await unknownJob(system, jobId)).says };
    const { outcome, job, hintFailed } = result;
    return {
      jobId,
      outcome,
      status: job.status,
      says: outcome === 'refused' ? whyRefused(verb.act, job) : verb.done(job) + unsent(hintFailed),
    };
  } catch (error) {
    // A row that cannot be read concerns this job alone; a store that does not answer concerns them all.
    if (!concernsOneRow(error)) throw error;
    return { jobId, outcome: 'failed', says: (error as Error).message };
  }
}

const unsent = (why: string | undefined): string =>
  why === undefined ? '' : `; no hint could be sent (${why}), so the reaper sends one soon`;

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
    if (outcome === 'written') output.say(`${colours.green('✓')} `, `${jobId}  ${says}`);
    else if (!output.isJson)
      output.note(
        `${colours.red('✗')} ${jobId}  ${status === undefined ? '' : `${paintStatus(status, colours)}: `}${says}`,
      );
  }
  return results.every((result) => result.outcome === 'written') ? exitCodes.ok : exitCodes.refused;
}
