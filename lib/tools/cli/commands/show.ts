import { Command } from 'commander';
import { readWait } from '../../../client/read-waits.ts';
import { exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  onSystem,
  parseJobId,
  withExamples,
  withSystem,
  withWide,
} from '../define-command.ts';
import { readJob, wholeJob } from '../read-job.ts';
import type { SystemOptions } from '../system/find-system.ts';
import { tellLife } from '../tell-life.ts';

export function createCommand(context: CliContext): Command {
  const command = new Command('show')
    .description('show the whole life of a job: claims, errors, crashes, operators’ acts, and what is next')
    .argument('<id>', 'job id', parseJobId)
    .option(
      '--row',
      'show its row instead, as JSON: payload, checkpoint, progress, result and every attribute',
    )
    .action((id: string, options: SystemOptions & { readonly row?: boolean }) =>
      onSystem(context, options, async (system, output) => {
        const job = await readJob(system, id);
        if (options.row === true) {
          output.json(wholeJob(job));
          output.say('', JSON.stringify(wholeJob(job), null, 2));
        } else tellLife(job, system.settings, output, context.terminal, await readWait(system, job));
        return exitCodes.ok;
      }),
    );
  return withExamples(
    withSystem(withWide(command)),
    'leasehold show report-2026-03',
    "leasehold show report-2026-03 --json | jq '.events[] | select(.text)'",
    'leasehold show report-2026-03 --row | jq .payload',
  );
}
