import { Command } from 'commander';
import { type Overview, readOverview } from '../../client/overview.ts';
import { exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  durationOption,
  listOption,
  numberOption,
  onSystem,
  withExamples,
  withSystem,
} from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import type { Output } from '../output.ts';
import { overviewLines } from '../overview-lines.ts';
import { formatInstant } from '../time.ts';

interface WatchCommandOptions extends SystemOptions {
  readonly every: number;
  readonly times?: number;
  readonly type?: readonly string[];
}

/** `leasehold watch`: the same figures again and again, until Ctrl-C. */
export function watchCommand(context: CliContext): Command {
  const command = new Command('watch')
    .description('show live counts until Ctrl-C; --json prints one document a line')
    .option('--every <duration>', 'time between updates', durationOption, 2000)
    .option('--times <n>', 'stop after this many updates', numberOption(1, 1_000_000))
    .option('-t, --type <type>', 'count failures of this type (repeat, or separate with commas)', listOption)
    .action((options: WatchCommandOptions) =>
      onSystem(context, options, async (system, output) => {
        const { clock, interrupted } = context.terminal;
        let drawn = 0;
        for (let look = 1; !interrupted.aborted; look++) {
          const overview = await readOverview(system, clock.now(), { types: options.type, pagesEach: 1 });
          drawn = draw(context, output, overview, drawn);
          if (look === options.times) break;
          await clock.sleep(Math.max(100, options.every), interrupted).catch(() => undefined);
        }
        return exitCodes.ok;
      }),
    );
  return withExamples(
    withSystem(command),
    'leasehold watch',
    'leasehold watch --every 10s --json >> counts.ndjson',
  );
}

/** Draws over the last drawing on a screen; anywhere else one goes below the other. */
function draw({ terminal }: CliContext, output: Output, overview: Overview, drawn: number): number {
  output.json(overview);
  if (output.isJson) return 0;
  const lines = [
    output.colours.dim(`${formatInstant(overview.at, terminal)}   Ctrl-C to stop`),
    ...overviewLines(overview, overview.at, output.colours),
  ];
  if (terminal.isScreen && drawn > 0) terminal.erase(drawn);
  output.line(lines.join('\n'));
  return lines.length;
}
