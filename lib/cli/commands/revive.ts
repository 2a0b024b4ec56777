import { Command } from 'commander';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { operate, reportOperated } from '../operate.ts';

/** `leasehold revive`: failed and cancelled jobs run again, with new budgets. */
export function reviveCommand(context: CliContext): Command {
  const command = new Command('revive')
    .description('run failed or cancelled jobs again, with new budgets')
    .argument('<id...>', 'job ids')
    .action((ids: string[], options: SystemOptions) =>
      onSystem(context, options, async (system, output) => {
        system.queueUrl();
        const results = await operate(system, ids, {
          act: 'revive',
          done: (job) => `pending again, attempt ${job.attempt + 1} is next`,
        });
        return reportOperated(output, results);
      }),
    );
  return withExamples(withSystem(command), 'leasehold revive report-2026-03 report-2026-04');
}
