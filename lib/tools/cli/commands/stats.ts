import { Command } from 'commander';
import { readOverview } from '../../../client/overview.ts';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, listOption, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { overviewLines } from '../overview-lines.ts';

/** About a million jobs per shard, for a fraction of a cent. */
const PAGES_EACH = 250;

export function createCommand(context: CliContext): Command {
  const command = new Command('stats')
    .description('count jobs by status from the index, and show queue and reaper')
    .option('-t, --type <type>', 'count failures of this type (repeat, or separate with commas)', listOption)
    .action((options: SystemOptions & { readonly type?: readonly string[] }) =>
      onSystem(context, options, async (system, output) => {
        const now = context.terminal.clock.now();
        const overview = await readOverview(system, now, { types: options.type, pagesEach: PAGES_EACH });
        output.json(overview);
        for (const line of overviewLines(overview, now, output)) output.line(line);
        return exitCodes.ok;
      }),
    );
  return withExamples(withSystem(command), 'leasehold stats', "leasehold stats --json | jq '.lapsed.count'");
}
