import { Command } from 'commander';
import { readOverview } from '../../../client/overview.ts';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, listOption, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { overviewLines } from '../overview-lines.ts';
import { type RedrawOptions, redraw, withRedraw } from '../terminal/redraw.ts';
import { formatInstant } from '../terminal/time.ts';

interface WatchCommandOptions extends SystemOptions, RedrawOptions {
  readonly type?: readonly string[];
}

export function createCommand(context: CliContext): Command {
  const command = withRedraw(new Command('watch'))
    .description('show live counts until Ctrl-C; --json prints one document a line')
    .option('-t, --type <type>', 'count failures of this type (repeat, or separate with commas)', listOption)
    .action((options: WatchCommandOptions) =>
      onSystem(context, options, async (system) => {
        const { terminal } = context;
        await redraw(context, options, async (output) => {
          const overview = await readOverview(system, terminal.clock.now(), {
            types: options.type,
            pagesEach: 1,
          });
          output.json(overview);
          output.line(output.colours.dim(`${formatInstant(overview.at, terminal)}   Ctrl-C to stop`));
          for (const line of overviewLines(overview, overview.at, output)) output.line(line);
        });
        return exitCodes.ok;
      }),
    );
  return withExamples(
    withSystem(command),
    'leasehold watch',
    'leasehold watch --every 10s --json >> counts.ndjson',
  );
}
