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

interface StatsOptions extends SystemOptions {
  readonly type?: readonly string[];
  readonly workers?: boolean;
}

const PAGES_EACH = 250;

export function createCommand(context: CliContext): Command {
  const command = new Command('stats')
    .description('report whether the system is healthy, count jobs by status, and show queue and reaper')
    .option('-t, --type <type>', 'count failures of this type (repeat, or separate with commas)', listOption)
    .option('--workers', 'list workers instead, by the leases they hold: last heartbeat, live or STALE')
    .action((options: StatsOptions) =>
      onSystem(context, options, async (system, output) => {
        await look(system, output, options);
        return exitCodes.ok;
      }),
    );
  return withExamples(withSystem(withWide(command)), 'leasehold stats', 'leasehold stats --workers');
}

async function look(system: System, output: Output, options: StatsOptions): Promise<void> {
  const now = system.clock.now();
  if (options.workers === true) return listWorkers(system, output, now);
  const overview = await readOverview(system, now, { types: options.type, pagesEach: PAGES_EACH });
  const { health, lastHour } = await readHealth(system, overview);
  output.json({ ...overview, health });
  tellHealth(output, health);
  output.line();
  for (const line of overviewLines(overview, now, output)) output.line(line);
  for (const { label, value, remark = '' } of lastHour) output.say(`${label}: `, `${value} ${remark}`.trim());
}
