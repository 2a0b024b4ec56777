import { Command } from 'commander';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, onSystem, parseJobIds, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { operate, reportOperated } from '../operate.ts';
import { confirmed } from '../terminal/confirmed.ts';

interface TakeBackOptions extends SystemOptions {
  readonly yes?: boolean;
}

/** `leasehold take-back`: takes running jobs back from their workers, which are fenced from then on. */
export function takeBackCommand(context: CliContext): Command {
  const command = new Command('take-back')
    .description('take running jobs back from their workers and give them to the next')
    .argument('<id...>', 'job ids', parseJobIds)
    .option('-y, --yes', 'do not ask, even for several jobs')
    .action((ids: string[], options: TakeBackOptions) =>
      onSystem(context, options, async (system, output) => {
        system.queueUrl();
        const question = `Take ${ids.length} jobs back from their workers?`;
        if (ids.length > 1 && !(await confirmed(context.terminal, question, options)))
          return exitCodes.refused;
        const results = await operate(system, ids, {
          act: 'takeBack',
          done: (job) => `taken back from ${job.leaseOwner ?? 'its worker'}, which is fenced`,
        });
        return reportOperated(output, results);
      }),
    );
  return withExamples(withSystem(command), 'leasehold take-back report-2026-03');
}
