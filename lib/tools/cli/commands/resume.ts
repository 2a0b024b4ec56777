import { Command } from 'commander';
import { actOnType } from '../../../client/act-on-type.ts';
import { counted } from '../../inspect/counted.ts';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../system/find-system.ts';

export function createCommand(context: CliContext): Command {
  const command = new Command('resume')
    .description('let the jobs of a paused type run; may be repeated')
    .argument('<type>', 'the job type')
    .action((type: string, options: SystemOptions) =>
      onSystem(context, options, async (system, output) => {
        const hinted = await actOnType({ ...system, by: system.actor }, { act: 'resume', type });
        output.json({ type, paused: false, hinted });
        output.say(
          `${output.colors.green('✓')} `,
          `${type} runs again: ${counted(hinted, 'waiting job')} got a hint`,
        );
        return undefined;
      }),
    );
  return withExamples(withSystem(command), 'leasehold resume send-invoice');
}
