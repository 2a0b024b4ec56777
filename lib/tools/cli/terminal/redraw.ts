import { type Command, Option } from 'commander';
import { type CliContext, durationOption, numberOption } from '../define-command.ts';
import { createOutput, type Output } from './output.ts';
import { formatInstant } from './time.ts';

export interface RedrawOptions {
  readonly every: number;
  readonly times?: number;
  readonly json?: boolean;
  readonly wide?: boolean;
}

const EVERY_MS = 2000;
/** Each drawing reads the table, and no reader can follow faster. */
const SHORTEST_MS = 100;

export const withRedraw = (command: Command): Command =>
  command
    .addOption(
      new Option('--every <duration>', 'time between updates')
        .argParser(durationOption)
        .default(EVERY_MS, '2s'),
    )
    .option('--times <n>', 'stop after this many updates', numberOption(1, 1_000_000));

/** Cuts drawings to the screen's height, because a cursor cannot move above its top. */
export async function redraw(
  { terminal }: CliContext,
  options: RedrawOptions,
  look: (output: Output) => Promise<void>,
): Promise<void> {
  const { clock, interrupted, isScreen, rows } = terminal;
  let drawn = 0;
  for (let times = 1; !interrupted.aborted; times++) {
    const pieces: string[] = [];
    const output = createOutput({ ...terminal, write: (more) => pieces.push(more) }, options);
    output.line(output.colors.dim(`${formatInstant(clock.now(), terminal)}   Ctrl-C to stop`));
    await look(output);
    const lines = pieces.join('').split('\n').slice(0, -1);
    const fitting = isScreen && lines.length >= rows ? [...lines.slice(0, rows - 2), '…'] : lines;
    if (isScreen && drawn > 0) terminal.erase(drawn);
    terminal.write(fitting.map((line) => `${line}\n`).join(''));
    drawn = fitting.length;
    if (times === options.times) return;
    await clock.sleep(Math.max(SHORTEST_MS, options.every), interrupted).catch(() => undefined);
  }
}
