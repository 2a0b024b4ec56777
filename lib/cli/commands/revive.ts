import { Command } from 'commander';
import { whyRefused } from '../../inspect/why-refused.ts';
import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { operate, reportOperated, sendHintsFor } from '../operate.ts';

/** `leasehold revive`: failed and cancelled jobs run again, with new budgets. */
export function reviveCommand(context: CliContext): Command {
  const command = new Command('revive')
    .description('run failed or cancelled jobs again, with new budgets')
    .argument('<id...>', 'job ids')
    .action((ids: string[], options: SystemOptions) =>
      onSystem(context, options, async (system, output) => {
        const { settings, store } = system;
        system.queueUrl();
        const now = context.terminal.clock.now();
        const dispatch = planDispatch(now, now, settings);
        const results = await operate(system, ids, {
          apply: (jobId) => store.revive(jobId, dispatch),
          done: (job) => `pending again, attempt ${job.attempt + 1} is next; a hint is in the queue`,
          refused: (job) => whyRefused('revive', job),
        });
        const revived = results.filter((result) => result.outcome === 'written');
        await sendHintsFor(
          system,
          output,
          revived.map(({ jobId }) => ({ jobId, dispatch })),
        );
        return reportOperated(output, results);
      }),
    );
  return withExamples(withSystem(command), 'leasehold revive report-2026-03 report-2026-04');
}
