import { Command } from 'commander';
import { readOverview } from '../../../client/overview.ts';
import { exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  listOption,
  onSystem,
  withExamples,
  withSystem,
  withWide,
} from '../define-command.ts';
import { listWorkers } from '../list-workers.ts';
import { overviewLines } from '../overview-lines.ts';
import { readHealth, tellHealth } from '../read-health.ts';
import type { SystemOptions } from '../system/find-system.ts';
import type { System } from '../system/system.ts';
import type { Output } from '../terminal/output.ts';
import { type RedrawOptions, redraw, withRedraw } from '../terminal/redraw.ts';

interface StatsOptions extends SystemOptions, RedrawOptions {
  readonly type?: readonly string[];
  readonly watch?: boolean;
  readonly workers?: boolean;
}

const PAGES_EACH = 250;

export function createCommand(context: CliContext): Command {
  const command = new Command('stats')
    .description('report whether the system is healthy, count jobs by status, and show queue and reaper')
    .option('-t, --type <type>', 'count failures of this type (repeat, or separate with commas)', listOption)
    .option('-w, --watch', 'repeat until Ctrl-C; --json prints one document per line')
    .option('--workers', 'list workers instead, by the leases they hold: last heartbeat, live or STALE')
    .action((options: StatsOptions) =>
      onSystem(context, options, async (system, output) => {
        if (options.watch === true)
          await redraw(context, options, (drawing) => look(system, drawing, options, 1));
        else await look(system, output, options, PAGES_EACH);
        return exitCodes.ok;
      }),
    );
  return withExamples(
    withSystem(withWide(withRedraw(command))),
    'leasehold stats',
    'leasehold stats --watch --every 10s --json >> counts.ndjson',
    'leasehold stats --workers',
  );
}

async function look(system: System, output: Output, options: StatsOptions, pagesEach: number): Promise<void> {
  const now = system.clock.now();
  if (options.workers === true) return listWorkers(system, output, now);
  const overview = await readOverview(system, now, { types: options.type, pagesEach });
  const { health, lastHour } = await readHealth(system, overview);
  output.json({ ...overview, health });
  tellHealth(output, health);
  output.line();
  for (const line of overviewLines(overview, now, output)) output.line(line);
  for (const { label, value, remark = '' } of lastHour) output.say(`${label}: `, `${value} ${remark}`.trim());
}
