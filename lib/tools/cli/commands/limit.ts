import { Command } from 'commander';
import { actOnType } from '../../../client/act-on-type.ts';
import { MAX_LIMIT } from '../../../wire/limits.ts';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../system/find-system.ts';

interface LimitOptions extends SystemOptions {
  readonly key?: string;
}

export function createCommand(context: CliContext): Command {
  const command = new Command('limit')
    .description('change how many jobs of a limited type run at once, within 10 s and without a deploy')
    .argument('<type>', 'a job type with a `limit` in its definition')
    .argument('<n>', `1 to ${MAX_LIMIT}, or 'default' for the definition's`)
    .option('--key <key>', 'only for this key of a type with a limit per key')
    .action((type: string, given: string, options: LimitOptions) =>
      onSystem(context, options, async (system, output) => {
        const { key } = options;
        const of = key === undefined ? type : `key ${key} of ${type}`;
        const limit = /^\d+$/.test(given) ? Number(given) : given;
        const change = { type, key, limit: limit === 'default' ? undefined : limit };
        await actOnType({ ...system, by: system.actor }, { act: 'limit', ...change });
        output.json({ type, key, limit });
        output.say(
          `${output.colors.green('✓')} `,
          limit === 'default' ? `${of} has its own limit again` : `at most ${limit} of ${of} run at once`,
        );
        return undefined;
      }),
    );
  return withExamples(
    withSystem(command),
    'leasehold limit render 5',
    'leasehold limit sync 1 --key tenant-7',
    'leasehold limit render default',
  );
}
