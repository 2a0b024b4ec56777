import { Command } from 'commander';
import { actOnJob } from '../../../client/act-on-job.ts';
import type { Job } from '../../../protocol/job.ts';
import { formatAge } from '../../inspect/format-duration.ts';
import { type CliContext, onSystem, parseJobIds, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { operate, reportOperated } from '../operate.ts';

export function createCommand(context: CliContext): Command {
  const command = new Command('revive')
    .description('run failed or cancelled jobs again, with new budgets')
    .argument('<id...>', 'job ids', parseJobIds)
    .option('--now', 'run at once also what was to run later')
    .action((ids: string[], options: SystemOptions & { readonly now?: boolean }) =>
      onSystem(context, options, async (system, output) => {
        system.queueUrl();
        const results = await operate(system, ids, {
          act: 'revive',
          apply: (id) => actOnJob(system, id, 'revive', options),
          done: (job) => revivedAs(job, context.terminal.clock.now()),
        });
        return reportOperated(output, results);
      }),
    );
  return withExamples(
    withSystem(command),
    'leasehold revive report-2026-03 report-2026-04',
    'leasehold revive report-2026-12 --now',
  );
}

function revivedAs(job: Job, now: number): string {
  const next = `pending again, attempt ${job.attempt + 1} is next`;
  return job.status === 'pending' && job.notBefore > now
    ? `${next}, due ${formatAge(job.notBefore, now)}; --now runs it at once`
    : next;
}
