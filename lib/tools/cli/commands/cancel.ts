import { Command } from 'commander';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, onSystem, parseJobIds, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { operate, reportOperated } from '../operate.ts';
import { confirmed } from '../terminal/confirmed.ts';

interface CancelOptions extends SystemOptions {
  readonly yes?: boolean;
}

/** `leasehold cancel`: pending jobs end at once, running ones at their worker's next heartbeat. */
export function cancelCommand(context: CliContext): Command {
  const command = new Command('cancel')
    .description('cancel pending jobs, and tell the workers of running ones to stop')
    .argument('<id...>', 'job ids', parseJobIds)
    .option('-y, --yes', 'do not ask, even for several jobs')
    .action((ids: string[], options: CancelOptions) =>
      onSystem(context, options, async (system, output) => {
        if (ids.length > 1 && !(await confirmed(context.terminal, `Cancel ${ids.length} jobs?`, options)))
          return exitCodes.refused;
        const results = await operate(system, ids, {
          act: 'cancel',
          done: (job) =>
            job.status === 'cancelled'
              ? 'cancelled'
              : 'its worker is told to stop with the reply to its next heartbeat',
        });
        return reportOperated(output, results);
      }),
    );
  return withExamples(withSystem(command), 'leasehold cancel report-2026-03', 'leasehold cancel --yes a b c');
}
