import { Command } from 'commander';
import { whyRefused } from '../../inspect/why-refused.ts';
import { hintDelaySecondsOf } from '../../protocol/decisions/dispatch.ts';
import type { Hint } from '../../protocol/ports.ts';
import { exitCodes } from '../cli-error.ts';
import { confirmed } from '../confirmed.ts';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { operate, reportOperated, sendHints } from '../operate.ts';

interface TakeBackOptions extends SystemOptions {
  readonly yes?: boolean;
}

/** `leasehold take-back`: takes running jobs back from their workers, which are fenced from then on. */
export function takeBackCommand(context: CliContext): Command {
  const command = new Command('take-back')
    .description('take running jobs back from their workers and give them to the next')
    .argument('<id...>', 'job ids')
    .option('-y, --yes', 'do not ask, even for several jobs')
    .action((ids: string[], options: TakeBackOptions) =>
      onSystem(context, options, async (system, output) => {
        system.queueUrl();
        const question = `Take ${ids.length} jobs back from their workers?`;
        if (ids.length > 1 && !(await confirmed(context.terminal, question, options)))
          return exitCodes.refused;
        const hints: Hint[] = [];
        const results = await operate(system, ids, {
          apply: async (jobId) => {
            const result = await system.store.takeBack(jobId);
            if (result.outcome === 'written' && result.job.status === 'pending') {
              const delaySeconds = hintDelaySecondsOf(result.job, context.terminal.clock.now());
              hints.push({ jobId, delaySeconds });
            }
            return result;
          },
          done: (job) =>
            `taken back from ${job.leaseOwner ?? 'its worker'}, which is fenced; a hint is in the queue`,
          refused: (job) => whyRefused('takeBack', job),
        });
        await sendHints(system, output, hints);
        return reportOperated(output, results);
      }),
    );
  return withExamples(withSystem(command), 'leasehold take-back report-2026-03');
}
