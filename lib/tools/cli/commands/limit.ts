import { Command, InvalidArgumentError } from 'commander';
import { changeLimit } from '../../../protocol/limits/operate.ts';
import { isLimitNumber, MAX_LIMIT } from '../../../wire/limits.ts';
import { isKey, KEY_RULE, quoted } from '../../../wire/message.ts';
import { controlParts, parseType } from '../control-types.ts';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';

interface LimitOptions extends SystemOptions {
  readonly key?: string;
}

export function createCommand(context: CliContext): Command {
  const command = new Command('limit')
    .description('change how many jobs of a limited type run at once, within 10 s and without a deploy')
    .argument('<type>', 'a job type with a `limit` in its definition', parseType)
    .argument('<n>', `1 to ${MAX_LIMIT}, or 'default' for the definition's`, parseLimit)
    .option('--key <key>', 'only for this key of a type with a limit per key', parseKey)
    .action((type: string, limit: number | 'default', options: LimitOptions) =>
      onSystem(context, options, async (system, output) => {
        const { key } = options;
        const of = key === undefined ? type : `key ${key} of ${type}`;
        await changeLimit(controlParts(system), {
          type,
          key,
          limit: limit === 'default' ? undefined : limit,
        });
        output.json({ type, key, limit });
        output.say(
          `${output.colours.green('✓')} `,
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

function parseLimit(text: string): number | 'default' {
  if (text === 'default') return text;
  const limit = Number(text);
  if (text.trim() !== '' && isLimitNumber(limit)) return limit;
  throw new InvalidArgumentError(
    `The limit is ${quoted(text)}; give a whole number from 1 to ${MAX_LIMIT}, or 'default'. To run none: leasehold pause.`,
  );
}

function parseKey(text: string): string {
  if (isKey(text)) return text;
  throw new InvalidArgumentError(`The key is ${quoted(text)}; it must be ${KEY_RULE}.`);
}
