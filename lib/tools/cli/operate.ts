import { Command } from 'commander';
import { type Acted, actOnJob } from '../../client/act-on-job.ts';
import { unknownJob } from '../../client/look-up.ts';
import type { Dispatch } from '../../protocol/decisions/dispatch.ts';
import { concernsOneRow } from '../../protocol/errors.ts';
import type { Job, OperatorAct } from '../../protocol/job.ts';
import type { Hint } from '../../protocol/ports.ts';
import { whyRefused } from '../inspect/why-refused.ts';
import { type ExitCode, exitCodes } from './cli-error.ts';
import { type CliContext, onSystem, parseJobIds, withSystem } from './define-command.ts';
import { paintStatus } from './format-job.ts';
import type { SystemOptions } from './system/find-system.ts';
import type { System } from './system/system.ts';
import { confirmed } from './terminal/confirmed.ts';
import type { Output } from './terminal/output.ts';

export interface Operated {
  readonly jobId: string;
  readonly outcome: 'written' | 'refused' | 'absent' | 'failed';
  readonly status?: Job['status'];
  readonly message: string;
}

export interface Verb {
  readonly act: OperatorAct['act'];
  /** @default - the act by itself, with its hint */
  readonly apply?: (jobId: string) => Promise<Acted>;
  readonly done: (job: Job) => string;
}

export const verbCommand = (
  context: CliContext,
  name: string,
  verb: Verb & { readonly question: (count: number) => string; readonly needsQueue?: boolean },
): Command =>
  withSystem(
    new Command(name)
      .argument('<id...>', 'job ids', parseJobIds)
      .option('-y, --yes', 'do not ask, even for several jobs')
      .action((ids: string[], options: SystemOptions & { readonly yes?: boolean }) =>
        onSystem(context, options, async (system, output) => {
          if (verb.needsQueue) system.queueUrl();
          if (ids.length > 1 && !(await confirmed(context.terminal, verb.question(ids.length), options)))
            return exitCodes.refused;
          return reportOperated(output, await operate(system, ids, verb));
        }),
      ),
  );

export async function operate(system: System, ids: readonly string[], verb: Verb): Promise<Operated[]> {
  const results: Operated[] = [];
  for (const jobId of ids) results.push(await operateOn(system, jobId, verb));
  return results;
}

async function operateOn(system: System, jobId: string, verb: Verb): Promise<Operated> {
  try {
    const result = await (verb.apply ?? ((id) => actOnJob(system, id, verb.act)))(jobId);
    if (result.outcome === 'absent')
      return { jobId, outcome: 'absent', message: (await unknownJob(system, jobId)).message };
    const { outcome, job, hintFailed } = result;
    return {
      jobId,
      outcome,
      status: job.status,
      message: outcome === 'refused' ? whyRefused(verb.act, job) : verb.done(job) + unsent(hintFailed),
    };
  } catch (error) {
    // An unreadable row concerns this job only; an unreachable store concerns all.
    if (!concernsOneRow(error)) throw error;
    return { jobId, outcome: 'failed', message: (error as Error).message };
  }
}

const unsent = (why: string | undefined): string =>
  why === undefined ? '' : `; no hint could be sent (${why}), so the reaper sends one soon`;

export interface Dispatched extends Pick<Hint, 'jobId' | 'type' | 'key'> {
  readonly dispatch: Dispatch;
}

export const sendHintsFor = (
  system: System,
  output: Output,
  dispatched: readonly Dispatched[],
): Promise<void> =>
  sendHints(
    system,
    output,
    dispatched.flatMap(({ jobId, type, key, dispatch: { hintDelaySeconds } }): Hint[] =>
      hintDelaySeconds === undefined ? [] : [{ jobId, type, key, delaySeconds: hintDelaySeconds }],
    ),
  );

/** The reaper sends later what cannot be sent now. */
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
  const { colors } = output;
  for (const { jobId, outcome, status, message } of results) {
    if (outcome === 'written') output.say(`${colors.green('✓')} `, `${jobId}  ${message}`);
    else if (!output.isJson)
      output.note(
        `${colors.red('✗')} ${jobId}  ${status === undefined ? '' : `${paintStatus(status, colors)}: `}${message}`,
      );
  }
  return results.every((result) => result.outcome === 'written') ? exitCodes.ok : exitCodes.refused;
}
