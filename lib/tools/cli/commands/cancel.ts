import type { Command } from 'commander';
import { type CliContext, withExamples } from '../define-command.ts';
import { verbCommand } from '../operate.ts';

export function createCommand(context: CliContext): Command {
  const command = verbCommand(context, 'cancel', {
    act: 'cancel',
    question: (count) => `Cancel ${count} jobs?`,
    done: (job) =>
      job.status === 'cancelled' ? 'cancelled' : 'its worker is asked to stop at its next heartbeat',
  }).description('cancel pending jobs, and ask the workers of running ones to stop');
  return withExamples(command, 'leasehold cancel report-2026-03', 'leasehold cancel --yes a b c');
}
