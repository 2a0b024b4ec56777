import { Command } from 'commander';
import { actOnType } from '../../../client/act-on-type.ts';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../system/find-system.ts';

export function createCommand(context: CliContext): Command {
  const command = new Command('pause')
    .description('start no more jobs of a type, within 10 s; running ones continue, and nothing is lost')
    .argument('<type>', 'the job type')
    .action((type: string, options: SystemOptions) =>
      onSystem(context, options, async (system, output) => {
        await actOnType({ ...system, by: system.actor }, { act: 'pause', type });
        output.json({ type, paused: true });
        output.say(
          `${output.colors.green('✓')} `,
          `${type} is paused: within 10 s, no more of its jobs start. To continue: leasehold resume ${type}`,
        );
        return undefined;
      }),
    );
  return withExamples(withSystem(command), 'leasehold pause send-invoice');
}
