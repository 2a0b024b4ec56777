import type { Command } from 'commander';
import { type CliContext, withExamples } from '../define-command.ts';
import { verbCommand } from '../operate.ts';

export function createCommand(context: CliContext): Command {
  const command = verbCommand(context, 'take-back', {
    act: 'takeBack',
    needsQueue: true,
    question: (count) => `Take ${count} jobs back from their workers?`,
    done: (job) => `taken back from ${job.leaseOwner ?? 'its worker'}, which is fenced`,
  }).description('take running jobs back from their workers and give them to others');
  return withExamples(command, 'leasehold take-back report-2026-03');
}
